/** The requests of this page, the latest first, each to be copied as code. */
import type { LoggedEvent, LoggedRequest, RequestLog } from '../data/request-log.ts';
import { asCurl, asFetch } from '../data/request-text.ts';
import { button, make } from '../elements/elements.ts';
import { formatMs } from '../elements/format.ts';

type Entry = LoggedRequest | LoggedEvent;

const COPIED_MS = 1500;

export class RequestList {
  readonly element = make('ol', { class: 'requests', 'aria-label': 'Requests of this page, the latest first' });
  readonly #log: RequestLog;
  readonly #lines = new Map<Entry, HTMLElement>();

  constructor(log: RequestLog) {
    this.#log = log;
  }

  /** Shows what is new, and forgets what the log no longer has. The other lines stay as they are, with the focus that they may have. */
  refresh(): void {
    const { entries } = this.#log;
    const kept = new Set(entries);
    for (const [entry, line] of this.#lines) {
      if (kept.has(entry)) continue;
      line.remove();
      this.#lines.delete(entry);
    }
    for (const entry of entries.filter((one) => !this.#lines.has(one)).reverse()) {
      const line = make('li', {}, ...requestLine(entry), copyButtons(entry, this.#log));
      this.#lines.set(entry, line);
      this.element.prepend(line);
    }
  }
}

export function requestLine(entry: Entry): readonly Node[] {
  const start = [
    make('span', { class: 'method' }, entry.method),
    make('span', { class: 'path', title: entry.path }, entry.path),
  ];
  if (!('status' in entry)) return start;
  const { status, ms } = entry;
  const tone = status === 0 || status >= 400 ? 'bad' : 'good';
  return [
    ...start,
    make('span', { class: 'status', 'data-tone': tone }, status === 0 ? 'failed' : String(status)),
    make('span', { class: 'ms' }, formatMs(ms)),
  ];
}

function copyButtons(entry: Entry, { server }: RequestLog): HTMLElement | false {
  if (!('sent' in entry)) return false;
  const { sent } = entry;
  return make(
    'span',
    { class: 'copies' },
    copyButton('fetch', () => asFetch(sent)),
    copyButton('curl', () => asCurl(sent, { origin: location.origin, server: server.address })),
  );
}

function copyButton(name: string, textOf: () => string): HTMLButtonElement {
  const title = `Copy as ${name}`;
  const say = (text: string) => {
    control.textContent = text;
    setTimeout(() => {
      control.textContent = name;
    }, COPIED_MS);
  };
  const copy = () => {
    navigator.clipboard.writeText(textOf()).then(
      () => say('copied'),
      () => say('refused'),
    );
  };
  const control = button(name, copy, { class: 'copy', title, 'aria-label': title, 'data-action': `copy-${name}` });
  return control;
}
