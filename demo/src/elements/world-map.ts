/** The world as dots: one for each square degree that has a city, brighter ones for documents, and large ones for those that were found. */
import { squares } from 'virtual:world';
import type { Place } from '../data/datasets.ts';
import { squareOf } from '../data/squares.ts';
import { make } from './elements.ts';

/** What a map shows, in degrees: from its north-western corner. */
interface Section {
  readonly north: number;
  readonly west: number;
  readonly width: number;
  readonly height: number;
}

/** No one lives beyond it. */
export const WORLD: Section = { north: 78, west: -180, width: 360, height: 134 };

/** The size of the section around a place. */
const AROUND = { width: 120, height: 38 };

/** So few places that they must stand out. */
const FEW = 300;

/** A dot this small is drawn as a square; the difference is not visible. */
const SMALL_PX = 1.2;

export class WorldMap {
  readonly element: HTMLElement;
  readonly #canvas = make('canvas');
  readonly #label: string;
  readonly #lit = new Set<number>();
  /** Lit since the last drawing. */
  readonly #fresh = new Set<number>();
  /** Drawn on top; undefined: nothing is searched for. */
  #found: ReadonlySet<number> | undefined;
  #mark: Place | undefined;
  #isDue = false;
  /** All of it must be drawn, not only what is fresh. */
  #isStale = true;

  constructor(label: string) {
    this.#label = label;
    this.#canvas.setAttribute('role', 'img');
    this.#canvas.setAttribute('aria-label', label);
    this.element = make('div', { class: 'world' }, this.#canvas);
    new ResizeObserver(() => this.#drawSoon(true)).observe(this.element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#drawSoon(true));
  }

  /** Lights more squares. */
  light(places: readonly Place[]): void {
    const wereFew = this.#lit.size < FEW;
    for (const place of places) {
      const square = squareOf(place);
      if (!this.#lit.has(square)) this.#fresh.add(square);
      this.#lit.add(square);
    }
    if (this.#fresh.size > 0) this.#drawSoon(wereFew && this.#lit.size >= FEW);
  }

  /** Lights these squares and no others. */
  lightOnly(squares: readonly number[]): void {
    if (squares.length === this.#lit.size && squares.every((square) => this.#lit.has(square))) return;
    this.#lit.clear();
    for (const square of squares) this.#lit.add(square);
    this.#drawSoon(true);
  }

  /** Shows these in front of all others; undefined: none. */
  find(places: readonly Place[] | undefined): void {
    const found = places && new Set(places.map(squareOf));
    if (found === undefined && this.#found === undefined) return;
    this.#found = found;
    this.#drawSoon(true);
  }

  /** Shows the surroundings of this place. */
  mark(place: Place | undefined): void {
    this.#mark = place;
    this.#drawSoon(true);
  }

  /** Draws attention to this place for a moment. */
  pulse(place: Place | undefined): void {
    if (!place) return;
    const { north, west, width, height } = this.#section;
    const left = `${(((place[1] - west) / width) * 100).toFixed(2)}%`;
    const top = `${(((north - place[0]) / height) * 100).toFixed(2)}%`;
    const ring = make('span', { class: 'pulse', animationend: () => ring.remove() });
    Object.assign(ring.style, { left, top });
    this.element.append(ring);
  }

  get #section(): Section {
    return this.#mark ? sectionAround(this.#mark) : WORLD;
  }

  #drawSoon(isStale: boolean): void {
    this.#isStale ||= isStale;
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #draw(): void {
    const { clientWidth: width } = this.element;
    const context = this.#canvas.getContext('2d');
    if (width === 0 || !context) return;
    const section = this.#section;
    const colour = (name: string) => getComputedStyle(this.element).getPropertyValue(name);
    if (this.#isStale) {
      const density = Math.min(2, devicePixelRatio);
      this.#canvas.width = Math.round(width * density);
      this.#canvas.height = Math.round((section.height * width * density) / section.width);
      drawDots(context, section, base, 0.36, colour('--dot'));
    }
    const size = this.#lit.size < FEW ? 0.8 : 0.46;
    // Behind what was found, the others are faint.
    context.globalAlpha = this.#found ? 0.35 : 1;
    drawDots(context, section, this.#isStale ? this.#lit : this.#fresh, size, colour('--dot-lit'));
    context.globalAlpha = 1;
    if (this.#found) drawDots(context, section, this.#found, 1.1, colour('--accent'));
    if (this.#mark) drawMark(context, section, this.#mark, colour('--accent'));
    this.#canvas.setAttribute('aria-label', this.#lit.size > 0 ? `${this.#label}, ${this.#lit.size} lit` : this.#label);
    this.#fresh.clear();
    this.#isStale = false;
  }
}

const base: readonly number[] = decodeSquares();

function drawDots(
  context: CanvasRenderingContext2D,
  section: Section,
  dots: Iterable<number>,
  size: number,
  colour: string,
): void {
  const scale = context.canvas.width / section.width;
  // If squares of a degree would run together, each dot stands for four of them.
  const step = scale < 1.8 ? 2 : 1;
  const radius = size * scale * step;
  context.fillStyle = colour;
  for (const square of dots) {
    const column = Math.floor((square % 360) / step) * step;
    const row = Math.floor(Math.floor(square / 360) / step) * step;
    const x = (column + step / 2 - 180 - section.west) * scale;
    const y = (section.north - (90 - row - step / 2)) * scale;
    if (radius <= SMALL_PX) context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
    else {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

function drawMark(
  context: CanvasRenderingContext2D,
  section: Section,
  [latitude, longitude]: Place,
  colour: string,
): void {
  const scale = context.canvas.width / section.width;
  const density = Math.min(2, devicePixelRatio);
  context.fillStyle = colour;
  for (const [radius, opacity] of [
    [20, 0.14],
    [12, 0.24],
    [5, 1],
  ] as const) {
    context.globalAlpha = opacity;
    context.beginPath();
    context.arc(
      (longitude - section.west) * scale,
      (section.north - latitude) * scale,
      radius * density,
      0,
      2 * Math.PI,
    );
    context.fill();
  }
  context.globalAlpha = 1;
}

/** Centered on the place, unless that is at the edge of the world. */
function sectionAround([latitude, longitude]: Place): Section {
  const { width, height } = AROUND;
  const north = Math.min(WORLD.north + 6, Math.max(latitude + height / 2, height - 90));
  const west = Math.min(180 - width, Math.max(-180, longitude - width / 2));
  return { north, west, width, height };
}

function decodeSquares(): readonly number[] {
  const found: number[] = [];
  const bytes = atob(squares);
  for (let index = 0; index < bytes.length; index++) {
    for (let bit = 0; bit < 8; bit++) if ((bytes.charCodeAt(index) >> bit) & 1) found.push(index * 8 + bit);
  }
  return found;
}
