/** The head of the page: navigation, whether it follows other tabs, and whether its server answers. */
import { datasets } from '../data/datasets.ts';
import { button, fill, icon, icons, make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import type { Connections } from '../following/connections.ts';
import type { Network, NetworkState } from '../following/network.ts';
import type { Route } from '../routes.ts';
import { furtherMenu } from './further.ts';

const NETWORK: Readonly<Record<NetworkState, readonly [label: string, more: string, title: string]>> = {
  unknown: ['', '', ''],
  reached: ['Online', '', 'The server of this page answers. The database does not need it.'],
  away: ['Server away', ' · all of this works', 'The server of this page does not answer, and all of this works.'],
  offline: ['Offline', ' · all of this works', 'There is no network, and all of this works.'],
};

export class AppBar {
  readonly element: HTMLElement;
  readonly #links = new Map<string, HTMLAnchorElement>();
  readonly #counts = new Map<string, HTMLElement>();
  readonly #connections: Connections;
  readonly #watched: Network;
  readonly #live = make('span', { class: 'live', role: 'status', hidden: true });
  readonly #network = make('span', { class: 'network', role: 'status' });
  readonly #update = make('div', { class: 'update', hidden: true, role: 'status' });

  constructor(connections: Connections, network: Network) {
    this.#connections = connections;
    this.#watched = network;
    this.#links.set('notes', make('a', { href: '#/notes' }, 'Field notes'));
    for (const { name, title } of datasets) {
      const count = make('span', { class: 'count' });
      this.#counts.set(name, count);
      this.#links.set(name, make('a', { href: `#/${name}` }, title, count));
    }
    this.#links.set('sync', make('a', { href: '#/sync' }, 'Sync'));
    this.#links.set('browser', make('a', { href: '#/browser' }, 'This browser'));
    this.element = make(
      'header',
      { class: 'app-bar' },
      make('a', { class: 'brand', href: '#/', 'aria-label': 'Settee demo, start' }, icon(icons.sofa), 'Settee'),
      make('nav', { 'aria-label': 'Databases' }, ...this.#links.values()),
      make('div', { class: 'marks-of-state' }, this.#live, this.#network),
      furtherMenu(network),
      this.#update,
    );
    connections.addEventListener('change', () => this.#showLive());
    network.addEventListener('change', () => this.#showNetwork());
    this.#showNetwork();
  }

  show(route: Route): void {
    const current = route.page === 'dataset' ? route.dataset.name : route.page;
    for (const [name, link] of this.#links) {
      if (name === current) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    // On a phone not all of them have room.
    this.#links.get(current)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  setCount(name: string, documents: number | undefined): void {
    const place = this.#counts.get(name);
    if (place) place.textContent = documents ? formatCount(documents) : '';
  }

  /** Offers a new version of the app. */
  offerUpdate(onAccept: () => void): void {
    this.#update.hidden = false;
    fill(this.#update, 'A new version is available.', button('Use it', onAccept));
  }

  #showLive(): void {
    const { state } = this.#connections;
    this.#live.hidden = state === 'closed';
    this.#live.dataset['state'] = state;
    this.#live.title =
      state === 'open'
        ? 'What other tabs and windows change shows here at once.'
        : 'The feed of changes was interrupted, as when the tab that owned the storage was closed. It continues where it stopped.';
    fill(this.#live, state === 'open' ? 'Live' : 'Reconnecting …');
  }

  #showNetwork(): void {
    const { state } = this.#watched;
    const [label, more, title] = NETWORK[state];
    this.#network.hidden = state === 'unknown';
    this.#network.dataset['state'] = state === 'reached' ? 'on' : 'off';
    this.#network.title = title;
    fill(this.#network, label, make('span', { class: 'more' }, more));
  }
}
