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

/** Makes these the children of the element, in this order. A child that stays is not moved unless it must be: moving would take the focus from it. */
export function arrange(element: Element, children: readonly Element[]): void {
  const wanted = new Set(children);
  for (const child of [...element.children]) if (!wanted.has(child)) child.remove();
  let next = element.firstElementChild;
  for (const child of children) {
    if (child === next) next = next.nextElementSibling;
    else element.insertBefore(child, next);
  }
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

/** Paths for `icon`. */
export const icons = {
  back: 'M15 5l-7 7 7 7',
  forward: 'M9 5l7 7-7 7',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.2 16.2L21 21',
  sofa: 'M6 10V8.5A2.5 2.5 0 0 1 8.5 6h7A2.5 2.5 0 0 1 18 8.5V10M4 12a1.7 1.7 0 0 1 3.4 0v2h9.2v-2a1.7 1.7 0 0 1 3.4 0v4.5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1zM12 6v8M6.5 17.5V19M17.5 17.5V19',
} as const;
