/** How many notes of each kind, and on each day: two live reductions, drawn as bars. */
import { fill, make } from '../elements/elements.ts';
import { formatBytes, formatCount } from '../elements/format.ts';
import { type DayBar, type DayRow, dayBars, type SumRow } from './figures.ts';
import { formatDay, kindTitle } from './note.ts';

const DAYS = 14;
const SVG = 'http://www.w3.org/2000/svg';

export class Sums {
  readonly element: HTMLElement;
  readonly #total = make('p', { class: 'sums-total' });
  readonly #kinds = make('ul', { class: 'sums-kinds', 'aria-label': 'Notes of each kind' });
  readonly #days = make('div', { class: 'sums-days' });

  /** `title`: of the device. */
  constructor(title: string) {
    this.element = make(
      'section',
      { class: 'sums', 'aria-label': `Sums: ${title}` },
      this.#total,
      this.#kinds,
      this.#days,
    );
  }

  showKinds(rows: readonly SumRow[]): void {
    const total = rows.reduce((sum, { value: [notes] }) => sum + notes, 0);
    const bytes = rows.reduce((sum, { value }) => sum + value[1], 0);
    const most = Math.max(1, ...rows.map(({ value: [notes] }) => notes));
    fill(
      this.#total,
      make('strong', {}, formatCount(total)),
      ` ${total === 1 ? 'note' : 'notes'}, ${formatBytes(bytes)} of photos`,
    );
    const inOrder = [...rows].sort((one, other) => other.value[0] - one.value[0]);
    fill(
      this.#kinds,
      ...inOrder.map(({ key: [kind], value: [notes] }) =>
        make(
          'li',
          { 'data-kind': kind },
          make('span', {}, kindTitle(String(kind ?? ''))),
          bars([{ share: notes / most, title: '' }], 'across'),
          make('span', { class: 'figure' }, formatCount(notes)),
        ),
      ),
    );
  }

  showDays(rows: readonly DayRow[]): void {
    const days = dayBars(rows, DAYS);
    const [first, last] = [days.at(0), days.at(-1)];
    if (!first || !last) {
      fill(this.#days);
      return;
    }
    const most = Math.max(1, ...days.map(({ notes }) => notes));
    const drawing = bars(
      days.map((bar) => ({ share: bar.notes / most, title: describe(bar) })),
      'up',
    );
    drawing.setAttribute('role', 'img');
    drawing.removeAttribute('aria-hidden');
    const told = days.filter(({ notes }) => notes > 0).map(describe);
    drawing.setAttribute('aria-label', `Notes of each day: ${told.join(', ')}`);
    fill(
      this.#days,
      drawing,
      make('p', {}, make('span', {}, formatDay(first.day)), make('span', {}, formatDay(last.day))),
    );
  }
}

function describe({ day, notes }: DayBar): string {
  return `${formatDay(day)}: ${notes}`;
}

/** Shares of the whole height, side by side, or of the whole width. */
function bars(all: readonly { readonly share: number; readonly title: string }[], way: 'up' | 'across'): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  const [width, height] = way === 'up' ? [all.length * 10, 40] : [100, 8];
  for (const [name, value] of Object.entries({
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none',
    class: `bars is-${way}`,
    'aria-hidden': 'true',
  })) {
    svg.setAttribute(name, value);
  }
  for (const [index, { share, title }] of all.entries()) {
    // A day without notes has a line at its foot.
    const length = way === 'up' ? Math.max(1, share * height) : share * width;
    const box = way === 'up' ? [index * 10 + 1.5, height - length, 7, length] : [0, 0, length, height];
    const bar = document.createElementNS(SVG, 'rect');
    for (const [at, name] of ['x', 'y', 'width', 'height'].entries()) bar.setAttribute(name, String(box[at] ?? 0));
    if (share === 0) bar.setAttribute('class', 'is-zero');
    if (title !== '') {
      const element = document.createElementNS(SVG, 'title');
      element.textContent = title;
      bar.append(element);
    }
    svg.append(bar);
  }
  return svg;
}
