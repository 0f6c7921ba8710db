"""What questions to a language model cost: tokens by scope and month, and the budget."""
