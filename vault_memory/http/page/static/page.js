/* The page works without this module. */
export {};
