/** Elements without a framework. Texts never become HTML. */
export type Child = Node | string | false | undefined;

/** Attributes by name; a function is a listener for the event of that name; `false` and undefined are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  decorate(element, attributes);
  fill(element, ...children);
  return element;
}

/** A drawing of 24 × 24, in lines of the color of the surrounding text. */
export function icon(path: string): SVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  decorate(svg, { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' });
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/** Replaces what is in the element. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== false && child !== undefined));
}

export function button(label: string, onClick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return make('button', { type: 'button', click: onClick, ...attributes }, label);
}

function decorate(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
}
