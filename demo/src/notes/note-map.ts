/** The notes of a device on the map of the world. A click sets a place, a pin opens its note. */
import { button, fill, make } from '../elements/elements.ts';
import { WORLD, WorldMap } from '../elements/world-map.ts';
import { type Cluster, clusters, type Pin } from './figures.ts';
import { formatPlace, type Place } from './note.ts';

export interface MapHost {
  onPlace(place: Place): void;
  /** Those of a pin: one, or several that are too close to be told apart. */
  onChoose(ids: readonly string[]): void;
}

/** A pin of the map, with what its button says. */
export interface NamedPin extends Pin {
  readonly title: string;
  readonly isTorn: boolean;
}

/** Nearer pins would cover each other. */
const APART_PX = 18;

export class NoteMap {
  readonly element: HTMLElement;
  readonly #host: MapHost;
  readonly #world: WorldMap;
  readonly #pins = make('div', { class: 'pins' });
  readonly #draft = make('span', { class: 'pin-draft', hidden: true });
  #shown: readonly NamedPin[] = [];
  #selected: string | undefined;

  constructor(label: string, host: MapHost) {
    this.#host = host;
    this.#world = new WorldMap(label);
    this.element = make(
      'div',
      { class: 'note-map', click: (event) => event instanceof MouseEvent && this.#onClick(event) },
      this.#world.element,
      this.#pins,
      this.#draft,
    );
    new ResizeObserver(() => this.#render()).observe(this.element);
  }

  show(pins: readonly NamedPin[]): void {
    this.#shown = pins;
    this.#render();
  }

  set selected(id: string | undefined) {
    this.#selected = id;
    this.#render();
  }

  /** The place that a form has. */
  set draft(place: Place | undefined) {
    this.#draft.hidden = place === undefined;
    if (place) put(this.#draft, place);
  }

  /** Draws attention to where something has arrived. */
  pulse(place: Place | undefined): void {
    this.#world.pulse(place);
  }

  #render(): void {
    const { clientWidth: width } = this.element;
    if (width === 0) return;
    const focused = this.#pins.contains(document.activeElement)
      ? document.activeElement?.getAttribute('data-ids')
      : null;
    const byId = new Map(this.#shown.map((pin) => [pin.id, pin]));
    const marks = clusters(this.#shown, (APART_PX / width) * WORLD.width).map((cluster) => this.#mark(cluster, byId));
    fill(this.#pins, ...marks);
    if (focused) marks.find((mark) => mark.dataset['ids'] === focused)?.focus();
  }

  #mark({ place, ids }: Cluster, byId: ReadonlyMap<string, NamedPin>): HTMLButtonElement {
    const pins = ids.flatMap((id) => byId.get(id) ?? []);
    const title = pins.length === 1 ? (pins[0]?.title ?? '') : `${pins.length} notes near ${formatPlace(place)}`;
    const choose = () => this.#host.onChoose(ids);
    const mark = button(pins.length === 1 ? '' : String(pins.length), choose, {
      class: pins.some(({ isTorn }) => isTorn) ? 'pin is-torn' : 'pin',
      title,
      'aria-label': title,
      'data-ids': ids.join(' '),
      'aria-pressed': String(this.#selected !== undefined && ids.includes(this.#selected)),
    });
    put(mark, place);
    return mark;
  }

  #onClick(event: MouseEvent): void {
    if (event.target instanceof Element && event.target.closest('.pin')) return;
    const { left, top, width, height } = this.element.getBoundingClientRect();
    const latitude = WORLD.north - ((event.clientY - top) / height) * WORLD.height;
    const longitude = WORLD.west + ((event.clientX - left) / width) * WORLD.width;
    this.#host.onPlace([Math.max(-90, Math.min(90, latitude)), Math.max(-180, Math.min(180, longitude))]);
  }
}

function put(element: HTMLElement, [latitude, longitude]: Place): void {
  const within = (share: number) => `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`;
  element.style.left = within((longitude - WORLD.west) / WORLD.width);
  element.style.top = within((WORLD.north - latitude) / WORLD.height);
}
