import type { Handle } from '../../base/shared/message.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import type { Entrance } from '../http/fair-work.ts';
import type { Refusal } from '../http/refusals.ts';
import { AnsweredExchange } from './answered-exchange.ts';
import {
  CANCEL,
  CHUNK,
  CREDIT,
  END,
  FAIL,
  FOLLOW,
  frameOf,
  PING,
  PONG,
  parseRequestHead,
  REQUEST,
  SETTINGS,
  type SentSettings,
  splitHead,
} from './frames.ts';
import { Heartbeat } from './heartbeat.ts';
import type { Link } from './link.ts';

/** What answers requests that come over links. */
export interface AnsweringOptions {
  readonly handle: Handle;
  /** The present settings. */
  readonly config: () => ConfigStore;
  /** Their name, which others compare with the one in the storage. */
  readonly settingsVersion: () => string;
  /** Why requests from that address are refused; undefined if they are not. The address is undefined for requests that a server itself makes. */
  readonly refusal: (peer: string | undefined) => Refusal | undefined;
  /** Called for requests that `handle` could not answer, and for streams that broke off. */
  readonly onFailure: (request: string, error: unknown) => void;
  readonly log: Log;
}

interface LinkTraits {
  /** Begins the requests of all links in turns. */
  readonly entrance: Entrance;
  /** Whether readers may be told that this process takes links of servers. */
  readonly takesLinks: boolean;
  /** See `Heartbeat`. Undefined: the other end is not asked for signs of life. */
  readonly beatMs?: number | undefined;
}

/** Answers the requests of one link whose other end is known. */
export class AnsweredLink {
  readonly #options: AnsweringOptions;
  readonly #traits: LinkTraits;
  readonly #link: Link;
  readonly #heartbeat: Heartbeat | undefined;
  readonly #exchanges = new Map<number, AnsweredExchange>();
  #isFollowing = false;
  #config: ConfigStore | undefined;
  #settingsVersion = '';
  #unfollow: () => void = () => undefined;

  constructor(link: Link, options: AnsweringOptions, traits: LinkTraits) {
    this.#link = link;
    this.#options = options;
    this.#traits = traits;
    const { beatMs } = traits;
    if (beatMs !== undefined) this.#heartbeat = new Heartbeat(link, beatMs, () => this.#exchanges.size > 0);
    link.takeLongFrames();
  }

  take(kind: number, id: number, payload: Buffer): void {
    if (kind === REQUEST) this.#begin(id, payload);
    else if (kind === PING) this.#link.send(frameOf(PONG, 0));
    else if (kind === FOLLOW) this.follow(payload.readUInt8(0) === 1);
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

  /** Whether the settings are sent: now, after each change, and before the response to the request that has changed them. */
  follow(isFollowing: boolean): void {
    this.#isFollowing = isFollowing;
    if (isFollowing) {
      this.#sendSettings();
      return;
    }
    this.#unfollow();
    this.#config = undefined;
  }

  /** To be called when the link has ended. */
  end(): void {
    this.#isFollowing = false;
    this.#unfollow();
    for (const exchange of [...this.#exchanges.values()]) exchange.abort();
  }

  #begin(id: number, payload: Buffer): void {
    const { head, bytes } = splitHead(payload);
    const request = parseRequestHead(head);
    if (this.#exchanges.has(id)) throw new Error('a request has the number of another one');
    const exchange = new AnsweredExchange(this.#link, id, request, bytes, {
      ...this.#options,
      beforeResponse: () => this.#sendChangedSettings(),
      onEnd: () => this.#exchanges.delete(id),
    });
    this.#exchanges.set(id, exchange);
    this.#heartbeat?.begin();
    this.#traits.entrance.enter(exchange, () => void exchange.answer());
  }

  #sendChangedSettings(): void {
    const { config, settingsVersion } = this.#options;
    if (!this.#isFollowing) return;
    if (config() !== this.#config || settingsVersion() !== this.#settingsVersion) this.#sendSettings();
  }

  #sendSettings(): void {
    const config = this.#options.config();
    if (config !== this.#config) {
      this.#unfollow();
      this.#config = config;
      this.#unfollow = config.onChange(() => this.#sendSettings());
    }
    const version = this.#options.settingsVersion();
    this.#settingsVersion = version;
    const { takesLinks } = this.#traits;
    const sent: SentSettings = { version, settings: config.sections(), ...(takesLinks && { takesLinks }) };
    this.#link.send(frameOf(SETTINGS, 0, JSON.stringify(sent)));
  }
}
