/**
 * What tools in this process can listen to (docs/node.md#traces): tracing channels of `node:diagnostics_channel`. Nothing is made or published
 * unless somebody has subscribed. Payloads have no bodies, no queries of addresses, and no credentials.
 */
import { type Channel, channel } from 'node:diagnostics_channel';
import type { Trace } from './trace-context.ts';

/** `settee:request`: from the head of a request until its response has been sent. */
export interface TracedRequest {
  /** 16 hex digits; the access log has it, too. */
  readonly id: string;
  readonly method: string;
  /** Without the query; at most 1,024 characters. */
  readonly path: string;
  /** The database that the path names; null if it names none. */
  readonly database: string | null;
  /** The client's address, as the log has it; null if it is unknown. */
  readonly peer: string | null;
  /** Its place in a trace. A subscriber to `start` may set it: the log, the response and requests that are sent on have what it says. */
  trace: Trace | undefined;
  /** Whether that it is recorded was said by this machine, or a trusted proxy: anybody else could have everything recorded. */
  readonly isTraceTrusted: boolean;
  /** The rest is there from `asyncStart` on. */
  status?: number;
  /** Sent with the response, its head included. */
  bytes?: number;
  /** Null for an anonymous client. */
  user?: string | null;
  /** Whether the connection ended before the response did. */
  isAborted?: boolean;
}

/** `settee:replication`: from its first attempt until it has ended. */
export interface TracedReplication {
  readonly id: string;
  /** Names or URLs, without credentials. */
  readonly source: string;
  readonly target: string;
  readonly continuous: boolean;
  readonly user: string | null;
  docsRead: number;
  docsWritten: number;
  docWriteFailures: number;
  /** The last failure from which it has not recovered, in a word and a sentence. */
  error?: string | undefined;
}

/** `settee:view-update`: one run that brings the index of a design document up to date. `settee:compaction`: of a database or an index. */
export interface TracedTask {
  readonly database: string;
  /** With `_design/`; undefined for a compaction of a database. */
  readonly designDocument: string | undefined;
  /** As last reported: short runs end without a report. */
  changesDone: number;
  /** What there was to do. */
  totalChanges: number;
}

/** The five channels of a name, as `tracingChannel` of Node makes them: other runtimes lack a part of that. */
export class Tracing<T extends object> {
  readonly #start: Channel;
  readonly #end: Channel;
  readonly #asyncStart: Channel;
  readonly #asyncEnd: Channel;

  constructor(name: string) {
    this.#start = channel(`tracing:${name}:start`);
    this.#end = channel(`tracing:${name}:end`);
    this.#asyncStart = channel(`tracing:${name}:asyncStart`);
    this.#asyncEnd = channel(`tracing:${name}:asyncEnd`);
  }

  /** Whether somebody has subscribed. */
  get isHeard(): boolean {
    return this.#start.hasSubscribers || this.#asyncEnd.hasSubscribers || this.#asyncStart.hasSubscribers;
  }

  begin(message: T): void {
    this.#start.publish(message);
    this.#end.publish(message);
  }

  end(message: T): void {
    this.#asyncStart.publish(message);
    this.#asyncEnd.publish(message);
  }
}

export const requests = new Tracing<TracedRequest>('settee:request');
export const replications = new Tracing<TracedReplication>('settee:replication');
export const viewUpdates = new Tracing<TracedTask>('settee:view-update');
export const compactions = new Tracing<TracedTask>('settee:compaction');
