/** What a handler gets: the request, read as far as every handler needs it, and the services that it uses. */
import type { Access } from '../../accounts/access/access.ts';
import type { ReadRestriction } from '../../accounts/access/read-restriction.ts';
import { ANONYMOUS, type Identity } from '../../accounts/contract.ts';
import { gaveWay, tooBusy } from '../../base/errors/too-busy.ts';
import { must } from '../../base/shared/assert.ts';
import { type ByteBudget, type ByteLease, FREE_BYTES } from '../../base/shared/byte-budget.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady, withEnd } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse, ResponseBody } from '../../base/shared/message.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import { clientAddressOf } from '../../base/system/config.ts';
import type { ConfigStore, Gzip, Log, Metric } from '../../base/system/contract.ts';
import type { Statistics } from '../../base/system/statistics.ts';
import type { Uuids } from '../../base/system/uuids.ts';
import type { Feeds } from '../../database/changes/contract.ts';
import type { AutoPurge } from '../../database/purging/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import { jsonType } from './accept.ts';
import { Query } from './address.ts';

/** The sender of a request, as functions of design documents see it: `userCtx` without the database. */
interface User {
  readonly name: string | null;
  readonly roles: readonly string[];
}

/** What all requests share. */
export interface Services {
  readonly access: Access;
  readonly registry: Registry;
  readonly feeds: Feeds;
  readonly autoPurge: AutoPurge;
  readonly config: ConfigStore;
  readonly log: Log;
  readonly clock: Clock;
  readonly uuids: Uuids;
  /** Background work, as `_active_tasks` shows it. */
  readonly tasks: ActiveTasks;
  readonly statistics: Statistics;
  /** What the host reports for monitoring, if it does. */
  readonly hostMetrics?: (() => readonly Metric[]) | undefined;
  /** What the storage reports for monitoring, if it does. */
  readonly storageMetrics?: (() => Promise<readonly Metric[]>) | undefined;
  /** The host's own compression, if it has one with levels. */
  readonly gzip?: Gzip | undefined;
  /** Bounds the memory of requests and responses in progress. */
  readonly bytesInFlight: ByteBudget;
  readonly beginnings?: Beginnings | undefined;
  /** Returns what `_up` says in addition, if the host has something to say; a `status` if the service can't be used now. */
  readonly health?: (() => Readonly<Record<string, string | number | boolean | null>>) | undefined;
  /** Whether another process answers in place of this response. Default: there is none. */
  readonly isLeftToOwner?: ((answer: Pick<PlainResponse, 'errorCode'>) => boolean) | undefined;
  /** The servers with which this one shares the databases, if there are any. */
  readonly sharing?: AskedServers | undefined;
  /** The beginning of every path, without a slash at its end; empty if the service is at the root. */
  readonly basePath: string;
}

/** The right that a request needs: `anyone`, a member or an admin of the database, or an admin of the server. */
export type Right = 'anyone' | 'member' | 'databaseAdmin' | 'serverAdmin';

export interface RequiredRight {
  readonly right: Right;
  /** Undefined for what belongs to no database. */
  readonly database: string | undefined;
}

/** What handlers ask the other servers, with the rights of the request's sender. */
export interface AskedServers {
  /** This server's own name. */
  name(): string;
  otherNames(): readonly string[];
  /** The tasks of the others; none if one of these asks. */
  tasks(context: Context): Promise<readonly unknown[]>;
  /** What the owner of the database says of it; undefined if that is this server, or doesn't answer. Fails with `unauthorized`. */
  info(context: Context, database: string): Promise<unknown>;
  /** What the server of that name says of itself, and that it is to restart; undefined if there is none. */
  node(context: Context, name: string, path: readonly (string | undefined)[]): Promise<Answer> | undefined;
}

/** A response while it is being made: the middleware adds headers to it. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ResponseBody;
  /** Its body is JSON text, or a stream of it, regardless of its type. */
  readonly isJson?: boolean;
  /** See `PlainResponse`. */
  readonly errorCode?: string;
  readonly held?: ByteLease;
}

/** Answers a request, or fails. Middleware takes one and returns one. */
export type Handler = (context: Context) => MaybePromise<Answer>;

/** What a host puts in front of the service, around the handler of all requests. */
export type Gateway = (config: ConfigStore, next: Handler) => Handler;

/** Bounds how many responses are begun at a time: each counts as bytes in flight once its first chunk is there. Owners take turns. */
export interface Beginnings {
  run<T>(work: () => Promise<T>, owner: string): Promise<T>;
}

/** One request in progress. Only middleware and router change it, before the handler runs. */
export class Context {
  request: PlainRequest;
  services: Services;
  /** GET for a HEAD request, or the value of `X-HTTP-Method-Override` (docs/http/requests.md#method-override). */
  method: string;
  /** The response body will be dropped: don't produce an expensive one. */
  isHead = false;
  /** Whether the resource also answers QUERY (docs/http/requests.md#query). */
  acceptsQuery = false;
  /** The sender of the request: anonymous until it has been identified. */
  user: User;
  /** How the user was identified; undefined without credentials, and for requests of the service itself. */
  identity: Identity | undefined;
  /** The right by which the request is answered; undefined if anyone has it. */
  grant: RequiredRight | undefined;
  /** `Access.rightsVersion` when the right was last found to hold. */
  rightsSeen = 0;
  /** Functions of documents were told the user: what they return may depend on it. */
  isUserShown = false;
  /** What this reader sees of the documents; undefined if that is all of them. */
  restriction: ReadRestriction | undefined;
  /** Set if settings let pages of the request's origin send requests; `isNamed`: whether they name the origin, rather than all. */
  sharedWith: { readonly origin: string; readonly isNamed: boolean } | undefined;
  /** The query, without the `?`. */
  search = '';
  /** What rewriting this request has cost so far: one for each time, and more if there is much to read for it. */
  rewrites = 0;
  /** The address that the client requested, if it differs from this one; without its origin. */
  requestedPath: string | undefined;
  /** The same if a virtual host stands for another address. */
  vhostPath: string | undefined;
  /** The database of the request's address, if it was opened for the request; the router sets it while a handler runs. */
  database: Database | undefined;
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
   * Runs `use` with a database, which stays open at least until its promise settles: in the same turn if it is open already. Fails with
   * `not_found` if there is none.
   */
  useDatabase<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    const { database } = this;
    return database?.name === name ? use(database) : this.services.registry.use(name, use);
  }

  /** The IP address of the sender; behind trusted proxies, that of the client that they name (docs/node.md#behind-a-proxy). Empty if it is unknown. */
  get clientAddress(): string {
    return clientAddressOf(this.services.config, this.request.peer, this.header('x-forwarded-for'));
  }

  /**
   * Counts what the request takes of the memory, after waiting for it if the service is busy. Fails with `too_busy` if
   * that takes too long.
   */
  holdBytes(bytes: number): MaybePromise<void> {
    return whenReady(this.memory.take(bytes), (isGranted) => this.#assertHeld(isGranted));
  }

  /** Like `holdBytes`, for the part of its body that has arrived: see `ByteLease.arrive`. */
  holdBody(bytes: number, factor: number): MaybePromise<void> {
    return whenReady(this.memory.arrive(bytes, factor), (isGranted) => this.#assertHeld(isGranted));
  }

  /** Like `holdBytes`, for part of a response; returns the function to release them, which must be called. `uncounted`: bytes in memory already. */
  async holdForPart(bytes: number, uncounted = bytes): Promise<() => void> {
    const lease = this.services.bytesInFlight.open(this.memory.owner);
    lease.expect(bytes);
    if (!(await lease.takeForAnswer(bytes, uncounted))) throw tooBusy();
    return () => lease.release();
  }

  /**
   * Counts a response, or more of it, until `releaseBytes`. Over a network it waits for that, with `uncounted` bytes in memory already, unless it is
   * small. Fails with `too_busy`, as `holdBytes` does.
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

  /** What it holds of the memory that all requests share: each sender has a share of that. */
  get memory(): ByteLease {
    this.#lease ??= this.services.bytesInFlight.open(this.clientAddress);
    return this.#lease;
  }

  /** Counts a streamed response. What the request body holds stays counted, since keys are needed to the end. */
  countStream(bytes: number): void {
    this.memory.add(bytes);
    this.memory.settle();
  }

  releaseBytes(): void {
    this.#lease?.release();
  }

  /**
   * Has another request answered in place of this one: through the router, as the same user. Memory that it holds counts as held
   * by this one. The caller handles its body. `method`: see `Context.method`.
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
    const dispatch = must(this.dispatch, 'the router names itself to each request');
    const answered = () =>
      whenReady(dispatch(next), (answer) => {
        this.grant = next.grant;
        this.restriction = next.restriction;
        this.isUserShown = next.isUserShown;
        return answer;
      });
    return withEnd(answered, () => {
      this.acceptsQuery = next.acceptsQuery;
    });
  }

  /** The content type with which this client gets JSON. */
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
   * Returns a header of the service's own, by what follows `X-Svc-`: accepted under the neutral name and under the family's
   * original one, which foreign replicators send (docs/http/requests.md#own-headers).
   */
  ownHeader(rest: string): string | undefined {
    return this.header(`x-svc-${rest}`) ?? this.header(`x-couch-${rest}`) ?? this.header(`x-couchdb-${rest}`);
  }
}

/** The same request as it would be read under other settings, to see their effect. */
export function contextUnder(config: ConfigStore, { request, services }: Context): Context {
  return new Context(request, { ...services, config });
}
