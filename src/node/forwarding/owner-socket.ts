import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import type { Handle } from '../../base/shared/message.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import { Entrance } from '../http/fair-work.ts';
import type { Refusal } from '../http/refusals.ts';
import { AnsweredExchange } from './answered-exchange.ts';
import {
  CANCEL,
  CHUNK,
  CREDIT,
  END,
  FAIL,
  frameOf,
  HELLO,
  PROTOCOL,
  parseRequestHead,
  REPORT,
  REQUEST,
  type ReaderReport,
  SETTINGS,
  type SentSettings,
  splitHead,
} from './frames.ts';
import { Link } from './link.ts';

export interface OwnerSocketOptions {
  /** In a folder that only this user may enter. On Windows the name of a pipe. */
  readonly path: string;
  /** What readers must know. */
  readonly secret: string;
  readonly handle: Handle;
  /** The present settings. */
  readonly config: () => ConfigStore;
  /** Their name, which readers compare with the one in the storage. */
  readonly settingsVersion: () => string;
  /** Why requests from that address are refused; undefined if they are not. */
  readonly refusal: (peer: string | undefined) => Refusal | undefined;
  /** Called for requests that `handle` could not answer, and for streams that broke off. */
  readonly onFailure: (request: string, error: unknown) => void;
  readonly log: Log;
  /** Called with what a reader has counted and logged; `feeds` is the number of changes feeds that wait at all readers. */
  readonly onReport: (report: Omit<ReaderReport, 'feeds'>, feeds: number) => void;
}

export interface OwnerSocket {
  /** Accepts no more connections, and waits until the readers have closed theirs, `longestMs` milliseconds at most. */
  close(longestMs: number): Promise<void>;
}

/** Answers the requests that readers send on a socket. A file that an earlier process left there is replaced. */
export async function openOwnerSocket(options: OwnerSocketOptions): Promise<OwnerSocket> {
  const { path } = options;
  if (process.platform !== 'win32') await rm(path, { force: true });
  const readers = new Set<ReaderLink>();
  const entrance = new Entrance();
  const onReport = (report: Omit<ReaderReport, 'feeds'>): void =>
    options.onReport(
      report,
      [...readers].reduce((sum, { feeds }) => sum + feeds, 0),
    );
  const server = createServer((socket) => {
    const reader: ReaderLink = new ReaderLink(
      { ...options, onReport },
      entrance,
      (events) => new Link(socket, events),
      () => {
        readers.delete(reader);
        onReport({ entries: [] });
      },
    );
    readers.add(reader);
  });
  server.listen(path);
  await once(server, 'listening');
  return { close: (longestMs) => closeSocket(server, readers, longestMs) };
}

async function closeSocket(server: Server, readers: ReadonlySet<ReaderLink>, longestMs: number): Promise<void> {
  const closed = once(server, 'close');
  // The file goes with it.
  server.close();
  const deadline = setTimeout(() => {
    for (const reader of readers) reader.destroy();
  }, longestMs);
  await closed;
  clearTimeout(deadline);
}

type LinkEvents = ConstructorParameters<typeof Link>[1];

/** The connection of one reader. */
class ReaderLink {
  readonly #options: OwnerSocketOptions;
  readonly #entrance: Entrance;
  readonly #link: Link;
  readonly #exchanges = new Map<number, AnsweredExchange>();
  /** Changes feeds that wait at this reader. */
  feeds = 0;
  #isKnown = false;
  #config: ConfigStore | undefined;
  #settingsVersion = '';
  #unfollow: () => void = () => undefined;

  constructor(
    options: OwnerSocketOptions,
    entrance: Entrance,
    open: (events: LinkEvents) => Link,
    onClose: () => void,
  ) {
    this.#options = options;
    this.#entrance = entrance;
    this.#link = open({
      onFrame: (kind, id, payload) => this.#take(kind, id, payload),
      onClose: (why) => {
        if (why !== undefined) options.log.debug(`the connection of a reader has ended: ${why}`);
        this.#unfollow();
        for (const exchange of [...this.#exchanges.values()]) exchange.abort();
        onClose();
      },
    });
  }

  destroy(): void {
    this.#link.destroy();
  }

  #onReport(payload: Buffer): void {
    const { feeds, ...report }: ReaderReport = JSON.parse(payload.toString());
    this.feeds = feeds;
    this.#options.onReport(report, feeds);
  }

  #take(kind: number, id: number, payload: Buffer): void {
    if (!this.#isKnown) this.#greet(kind, payload);
    else if (kind === REQUEST) this.#begin(id, payload);
    else if (kind === REPORT) this.#onReport(payload);
    else {
      const exchange = this.#exchanges.get(id);
      if (exchange === undefined) return;
      if (kind === CHUNK) exchange.chunk(payload);
      else if (kind === END) exchange.endBody(payload);
      else if (kind === FAIL) exchange.failBody(payload);
      else if (kind === CREDIT) exchange.grant(payload.readUInt32BE(0));
      else if (kind === CANCEL) exchange.abort();
    }
  }

  #greet(kind: number, payload: Buffer): void {
    const expected = `${PROTOCOL} ${this.#options.secret}`;
    if (kind !== HELLO || !areEqualSecrets(payload.toString(), expected)) {
      this.#options.log.error(
        'A process that is no reader of this server has connected to its socket, and was refused.',
      );
      this.#link.destroy();
      return;
    }
    this.#isKnown = true;
    this.#sendSettings();
  }

  #begin(id: number, payload: Buffer): void {
    const { head, bytes } = splitHead(payload);
    const request = parseRequestHead(head);
    const exchange = new AnsweredExchange(this.#link, id, request, bytes, {
      ...this.#options,
      beforeResponse: () => {
        const { config, settingsVersion } = this.#options;
        if (config() !== this.#config || settingsVersion() !== this.#settingsVersion) this.#sendSettings();
      },
      onEnd: () => this.#exchanges.delete(id),
    });
    this.#exchanges.set(id, exchange);
    this.#entrance.enter(exchange, () => void exchange.answer());
  }

  /** Sent before the response to the request that has changed them. */
  #sendSettings(): void {
    const config = this.#options.config();
    if (config !== this.#config) {
      this.#unfollow();
      this.#config = config;
      this.#unfollow = config.onChange(() => this.#sendSettings());
    }
    const version = this.#options.settingsVersion();
    this.#settingsVersion = version;
    const sent: SentSettings = { version, settings: config.sections() };
    this.#link.send(frameOf(SETTINGS, 0, JSON.stringify(sent)));
  }
}
