/** What a handler gets: the request, read as far as every handler needs it, and the services behind it. */

import type { Access } from '../../accounts/access/access.ts';
import { ANONYMOUS, type Identity } from '../../accounts/contract.ts';
import type { ReadRestriction } from '../../accounts/read-restrictions/read-restriction.ts';
import { gaveWay, tooBusy } from '../../base/errors/too-busy.ts';
import { must } from '../../base/shared/assert.ts';
import { type ByteBudget, type ByteLease, FREE_BYTES } from '../../base/shared/byte-budget.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, ResponseBody } from '../../base/shared/message.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import { clientAddressOf } from '../../base/system/config.ts';
import type { ConfigStore, Gzip, Log } from '../../base/system/contract.ts';
import type { Statistics } from '../../base/system/statistics.ts';
import type { Uuids } from '../../base/system/uuids.ts';
import type { Feeds } from '../../database/changes/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { jsonType } from './accept.ts';
import { Query } from './query.ts';
import type { User } from './user.ts';

/** What all requests share. */
export interface Services {
  readonly access: Access;
  readonly registry: Registry;
  readonly feeds: Feeds;
  readonly config: ConfigStore;
  readonly log: Log;
  readonly clock: Clock;
  readonly uuids: Uuids;
  /** What runs in the background, as `_active_tasks` shows it. */
  readonly tasks: ActiveTasks;
  readonly statistics: Statistics;
  /** The host's own compression, where it has one with levels. */
  readonly gzip?: Gzip | undefined;
  /** Bounds the memory of requests and answers that are on their way. */
  readonly bytesInFlight: ByteBudget;
  readonly beginnings?: Beginnings | undefined;
  /** What every path begins with, without a slash at its end; empty where the service is at the root. */
  readonly basePath: string;
}

/** The right that a request needs: `anyone`, a member or an admin of the database, or an admin of the server. */
export type Right = 'anyone' | 'member' | 'databaseAdmin' | 'serverAdmin';

export interface RequiredRight {
  readonly right: Right;
  /** Undefined for what belongs to no database. */
  readonly database: string | undefined;
}

/** A response while it is being made: the middleware adds headers to it. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ResponseBody;
  /** Its body is JSON text, or a stream of it, whatever its type says. */
  readonly isJson?: boolean;
  /** See `PlainResponse`. */
  readonly errorCode?: string;
  readonly held?: ByteLease;
}

/** Answers a request, or fails. Middleware takes one and gives one. */
export type Handler = (context: Context) => MaybePromise<Answer>;

/** What a host puts in front of the service, around the handler of all requests. */
export type Gateway = (config: ConfigStore, next: Handler) => Handler;

/** Bounds how many answers are begun at a time: each counts as bytes in flight once its first chunk is there. Owners take turns. */
export interface Beginnings {
  run<T>(work: () => Promise<T>, owner: string): Promise<T>;
}

/** One request on its way. Only middleware and router change it, before the handler runs. */
export class Context {
  request: PlainRequest;
  services: Services;
  /** GET for a HEAD request, and what `X-HTTP-Method-Override` says (docs/http/requests.md#method-override). */
  method: string;
  /** The answer's body will be dropped: don't produce one that costs much. */
  isHead = false;
  /** Whoever asks: nobody, until it was found out. */
  user: User;
  /** How that is known; undefined for who sent no credentials, and for requests of the service itself. */
  identity: Identity | undefined;
  /** The right by which the request is answered; undefined where anyone has it. */
  grant: RequiredRight | undefined;
  /** `Access.rightsVersion` when it was last found that the right holds. */
  rightsSeen = 0;
  /** Functions of documents were told who asks: what they give may depend on it. */
  isUserShown = false;
  /** What this reader sees of the documents; undefined where that is all of them. */
  shield: ReadRestriction | undefined;
  /** That pages of the origin which sent it may ask, where settings say so; `isNamed`: by its name, rather than like any other. */
  sharedWith: { readonly origin: string; readonly isNamed: boolean } | undefined;
  /** The query, without the `?`. */
  search = '';
  /** What rewriting the request on its way has taken so far: one for each time, and more where there is much to read for it. */
  rewrites = 0;
  /** The address that the client asked for, where this is another one; without its origin. */
  requestedPath: string | undefined;
  /** The same where a virtual host stands for another address. */
  vhostPath: string | undefined;
  /** Sends another request through the router, which sets it. */
  dispatch: Handler | undefined;
  #lease: ByteLease | undefined;
  #jsonType: string | undefined;
  #query: Query | undefined;

  constructor(request: PlainRequest, services: Services) {
    this.request = request;
    this.services = services;
    this.method = request.method;
    this.user = request.user ?? ANONYMOUS;
    this.#lease = request.held;
  }

  /**
   * Counts what the request takes of the memory, after waiting for it where the service has much under way. Fails with `too_busy` where
   * that takes too long.
   */
  holdBytes(bytes: number): MaybePromise<void> {
    return whenReady(this.memory.take(bytes), (isGranted) => this.#assertHeld(isGranted));
  }

  /** As `holdBytes`, for what has come of its body: see `ByteLease.arrive`. */
  holdBody(bytes: number, factor: number): MaybePromise<void> {
    return whenReady(this.memory.arrive(bytes, factor), (isGranted) => this.#assertHeld(isGranted));
  }

  /** As `holdBytes`, for a part of an answer; gives the function that gives them back, which must be called. `uncounted`: how many of them are there already. */
  async holdForPart(bytes: number, uncounted = bytes): Promise<() => void> {
    const lease = this.services.bytesInFlight.open(this.memory.owner);
    lease.expect(bytes);
    if (!(await lease.takeForAnswer(bytes, uncounted))) throw tooBusy();
    return () => lease.release();
  }

  /**
   * Counts an answer, or more of it, until `releaseBytes`. Over a network it waits for that, with so many bytes of it in memory already, unless it is
   * small. Fails with `too_busy`, as `holdBytes`.
   */
  holdAnswer(bytes: number, uncounted: number): MaybePromise<void> {
    const { memory } = this;
    if (this.request.peer === undefined || bytes <= FREE_BYTES) {
      this.countStream(bytes);
      return;
    }
    return whenReady(memory.takeForAnswer(bytes, uncounted), (isGranted) => this.#assertHeld(isGranted));
  }

  #assertHeld(isGranted: boolean): void {
    if (!isGranted) throw this.memory.hasGivenWay ? gaveWay() : tooBusy();
  }

  /** What it holds of the memory that requests have together: who sends it has a share of that. */
  get memory(): ByteLease {
    this.#lease ??= this.services.bytesInFlight.open(
      clientAddressOf(this.services.config, this.request.peer, this.header('x-forwarded-for')),
    );
    return this.#lease;
  }

  /** Counts a streamed answer. What the request's body holds stays counted, since keys are needed to the end. */
  countStream(bytes: number): void {
    this.memory.add(bytes);
    this.memory.settle();
  }

  releaseBytes(): void {
    this.#lease?.release();
  }

  /**
   * Has another request answered in the place of this one: through the router, as the same user. What it holds of the memory counts as held
   * by this one. The caller sees to its body. `method`: see `Context.method`.
   */
  answerInstead(request: PlainRequest, method: string, rewrites = this.rewrites): MaybePromise<Answer> {
    const next = new Context(request, this.services);
    next.method = method;
    next.isHead = this.isHead;
    next.user = this.user;
    next.identity = this.identity;
    next.rightsSeen = this.rightsSeen;
    next.rewrites = rewrites;
    next.requestedPath = this.requestedPath;
    next.vhostPath = this.vhostPath;
    next.#lease = this.memory;
    return whenReady(must(this.dispatch, 'the router names itself to each request')(next), (answer) => {
      this.grant = next.grant;
      this.shield = next.shield;
      this.isUserShown = next.isUserShown;
      return answer;
    });
  }

  /** The content type under which this client gets JSON. */
  get jsonType(): string {
    this.#jsonType ??= jsonType(this.header('accept'));
    return this.#jsonType;
  }

  get query(): Query {
    this.#query ??= new Query(this.search);
    return this.#query;
  }

  /** `name` in lower case. */
  header(name: string): string | undefined {
    return this.request.headers[name];
  }

  /**
   * A header of the service's own, by what follows `X-Svc-`: accepted under the neutral name and under the family's
   * original one, which foreign replicators send (docs/http/requests.md#own-headers).
   */
  ownHeader(rest: string): string | undefined {
    return this.header(`x-svc-${rest}`) ?? this.header(`x-couch-${rest}`) ?? this.header(`x-couchdb-${rest}`);
  }
}

/** The same request as it would be read under other settings, to see what would follow from them. */
export function contextUnder(config: ConfigStore, { request, services }: Context): Context {
  return new Context(request, { ...services, config });
}
