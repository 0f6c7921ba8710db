/* What the tests of the design measure in a view. Each function is called by its name. */
({
  visible(node) {
    return node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  },

  /** Text nodes that a person sees, within `root`. */
  texts(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      const isHidden = parentElement.closest(".hidden, script, style, option, title");
      if (data.trim() && !isHidden && this.visible(parentElement)) nodes.push(walker.currentNode);
    }
    return nodes;
  },

  /** Pairs of texts on one line with nothing between them. */
  runTogether() {
    const rectOf = (node, start, end) => {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      return range.getBoundingClientRect();
    };
    const nodes = this.texts(document.querySelector("main"));
    return nodes.slice(1).flatMap((next, index) => {
      const node = nodes[index];
      if (node.parentElement === next.parentElement) return [];
      if (/[\s\p{P}]$/u.test(node.data) || /^[\s\p{P}]/u.test(next.data)) return [];
      const left = rectOf(node, node.length - 1, node.length);
      const right = rectOf(next, 0, 1);
      const isOneLine = Math.min(left.bottom, right.bottom) - Math.max(left.top, right.top) > 4;
      const gap = right.left - left.right;
      const isClose = isOneLine && gap > -1 && gap < 3;
      return isClose ? [`${node.data.slice(-30)}|${next.data.slice(0, 30)}`] : [];
    });
  },

  /** What a person reads, without code, typed text and folded details. */
  words() {
    return this.texts(document.body)
      .filter((node) => !node.parentElement.closest("pre, code, textarea, .details"))
      .map((node) => node.data.replace(/\s+/g, " ").trim());
  },

  places() {
    const views = document.querySelector("nav[aria-label=Views]");
    return ["a", "[aria-current]"].map((chosen) => views.querySelectorAll(chosen).length);
  },

  titles() {
    return [document.title, ...[...document.querySelectorAll("h1")].map((node) => node.innerText)];
  },

  /** What the view quotes of notes and turns. */
  quoted() {
    return [...document.querySelectorAll("main .text")]
      .map((node) => node.textContent.replace(/\s+/g, " ").trim());
  },

  commands() {
    return [...document.querySelectorAll("main .command code")]
      .filter((node) => this.visible(node))
      .map((node) => node.textContent);
  },

  elements() {
    return document.querySelectorAll("*").length;
  },

  /** How far things moved while the view was loaded. */
  async shift() {
    let sum = 0;
    const observer = new PerformanceObserver((list) => {
      for (const each of list.getEntries()) sum += each.hadRecentInput ? 0 : each.value;
    });
    observer.observe({ type: "layout-shift", buffered: true });
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    await frame();
    observer.disconnect();
    return sum;
  },

  /** When the largest text was painted, in milliseconds since the address was asked for. */
  painted() {
    return new Promise((resolve) => {
      const observer = new PerformanceObserver((list) => {
        observer.disconnect();
        resolve(list.getEntries().at(-1).startTime);
      });
      observer.observe({ type: "largest-contentful-paint", buffered: true });
    });
  },

  labels() {
    return [...document.querySelectorAll("[aria-label]")].map((node) => node.ariaLabel);
  },

  /** Buttons in `main` that change something, as far as one sees them. */
  buttons() {
    return [...document.querySelectorAll("main form[method=post] button")]
      .filter((button) => this.visible(button))
      .map((button) => button.ariaLabel ?? button.textContent.trim());
  },

  mains() {
    return [...document.querySelectorAll(".card, article, form")]
      .map((card) => [...card.querySelectorAll("button.main")].filter((each) => this.visible(each)))
      .filter((found) => found.length > 1).length;
  },

  targets() {
    const chosen = "button, summary, input:not([type=hidden]), select, nav a, .list a, .rows > li > a";
    return [...document.querySelectorAll(chosen)]
      .filter((node) => this.visible(node) && !node.closest("p:not(.actions):not(.command)"))
      .map((node) => [node, node.getBoundingClientRect()])
      .filter(([, rect]) => rect.width > 0 && rect.bottom > 0);
  },

  small() {
    return this.targets()
      .filter(([, rect]) => rect.width < 43.5 || rect.height < 43.5)
      .map(([node, rect]) =>
        `${node.localName} ${node.ariaLabel ?? node.textContent.trim()}: ${Math.round(rect.width)}x${Math.round(rect.height)}`);
  },

  overlapping() {
    const targets = this.targets().filter(([node]) => !node.closest("#views, .skip"));
    return targets.flatMap(([node, rect], index) =>
      targets.slice(index + 1)
        .filter(([other]) => !node.contains(other) && !other.contains(node))
        .filter(([, other]) =>
          Math.min(rect.right, other.right) - Math.max(rect.left, other.left) > 1 &&
          Math.min(rect.bottom, other.bottom) - Math.max(rect.top, other.top) > 1)
        .map(([other]) => `${node.outerHTML.slice(0, 80)} | ${other.outerHTML.slice(0, 80)}`));
  },

  /** Sizes of text outside code, and radii, as the browser computed them. */
  styles() {
    const sizes = new Set();
    for (const { parentElement } of this.texts(document.body))
      if (!parentElement.closest("pre, code, kbd, textarea, .diff, svg"))
        sizes.add(getComputedStyle(parentElement).fontSize);
    const radii = new Set();
    for (const node of document.querySelectorAll("body *"))
      if (this.visible(node)) radii.add(getComputedStyle(node).borderTopLeftRadius);
    return { sizes: [...sizes], radii: [...radii] };
  },

  /** The lowest contrast between the edge of a control and what is around it. */
  edges() {
    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const luminance = (color) => {
      const [r, g, b] = channels(color).slice(0, 3).map((value) => {
        const share = value / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (node) => {
      for (let each = node; each; each = each.parentElement) {
        const color = getComputedStyle(each).backgroundColor;
        if ((channels(color)[3] ?? 1) > 0) return color;
      }
      return "rgb(255, 255, 255)";
    };
    return [...document.querySelectorAll("button, input, select, textarea")]
      .filter((node) => this.visible(node) && getComputedStyle(node).borderTopWidth !== "0px")
      .filter((node) => (channels(getComputedStyle(node).borderTopColor)[3] ?? 1) > 0)
      .map((node) => {
        const [one, two] = [getComputedStyle(node).borderTopColor, groundOf(node.parentElement)]
          .map(luminance);
        const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        return [contrast, node.outerHTML.slice(0, 90)];
      })
      .filter(([contrast]) => contrast < 3)
      .map(([contrast, html]) => `${contrast.toFixed(2)}: ${html}`);
  },
})
