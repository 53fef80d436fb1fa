/** What a path leads to: resources with their methods, and for each method who may use it and which handler answers. */

import { DatabaseError } from '../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../base/shared/maybe-promise.ts';
import type { Right } from './request/context.ts';
import type { DatabaseHandler, HandlerPart, ServerHandler } from './request/handlers.ts';
import { MethodNotAllowed } from './response/error-table.ts';

/**
 * What members who are not admins may do with a resource of a system database, some of whose documents they must not see.
 *
 * - `own`: all that they may do elsewhere; writes have their own rules there
 * - `shown`: what they may see of the document; the handler asks the restriction
 * - `list`, `changes`: if the restriction permits it
 * - `functions`: nothing, since functions of design documents see whole documents
 */
export type SystemRule = 'own' | 'shown' | 'list' | 'changes' | 'functions';

export interface Action<H> {
  readonly right: Right;
  /** What members who are not admins may do with it in system databases; undefined for nothing. */
  readonly inSystem: SystemRule | undefined;
  readonly handler: H;
  /** For a POST: whether it changes nothing, as `http/request/read-only-requests.ts` says too. */
  readonly isReadOnly: boolean;
}

export interface Resource<H> {
  /** For the `Allow` header. */
  readonly allow: string;
  readonly actions: ReadonlyMap<string, Action<H>>;
}

/** Resources by their path. One that ends in `/*` matches paths with further segments, and also the path without any. */
export type Table<H> = ReadonlyMap<string, Resource<H>>;

/** A POST that only reads may also be a QUERY (docs/http/requests.md#query). */
export function resource<H>(allow: string, actions: Readonly<Record<string, Action<H>>>): Resource<H> {
  const { POST } = actions;
  return POST?.isReadOnly
    ? { allow: `${allow},QUERY`, actions: new Map(Object.entries({ ...actions, QUERY: POST })) }
    : { allow, actions: new Map(Object.entries(actions)) };
}

/** A resource whose methods all do the same. */
export function sameForAll<H>(allow: string, action: Action<H>): Resource<H> {
  return { allow, actions: new Map(allow.split(',').map((method) => [method, action])) };
}

/** The resource with one more method, which `Allow` does not name. */
export function withMethod<H>({ allow, actions }: Resource<H>, method: string, action: Action<H>): Resource<H> {
  return { allow, actions: new Map([...actions, [method, action]]) };
}

/** Explains why a method is not allowed that other methods of its resource would lead one to expect. */
export function refuse(allow: string, reason: string): () => never {
  return () => {
    throw new MethodNotAllowed(allow, reason);
  };
}

/** A resource of a later version: its methods answer 501, and change nothing. */
export function notImplemented(allow: string, what: string, effect?: 'reads'): Resource<() => never> {
  const refuse = (): never => {
    throw new DatabaseError('not_implemented', `${what} not implemented yet.`);
  };
  return sameForAll(allow, anyone(refuse, effect));
}

type Effect = 'reads' | undefined;

export function anyone<H>(handler: H, effect?: Effect): Action<H> {
  return action('anyone', handler, effect);
}

/** `inSystem`: see `SystemRule`. */
export function member<H>(handler: H, effect?: Effect, inSystem?: SystemRule): Action<H> {
  return action('member', handler, effect, inSystem);
}

export function databaseAdmin<H>(handler: H, effect?: Effect): Action<H> {
  return action('databaseAdmin', handler, effect);
}

export function serverAdmin<H>(handler: H, effect?: Effect): Action<H> {
  return action('serverAdmin', handler, effect);
}

function action<H>(right: Right, handler: H, effect: Effect, inSystem?: SystemRule): Action<H> {
  return { right, inSystem, handler, isReadOnly: effect === 'reads' };
}

/** Returns a handler, by name, of a part that is loaded on first use. Fails with `functions_unavailable` if the part can't be loaded. */
export function deferred<Service, Name extends string>(
  part: () => MaybePromise<HandlerPart<Service, Name>>,
  name: NoInfer<Name>,
): DatabaseHandler {
  return (context, database, rest) =>
    whenReady(part(), ({ service, handlers }) => handlers[name](service, context, database, rest));
}

/** Like `deferred`, for requests that name no database. */
export function deferredOfServer<Service, Name extends string>(
  part: () => MaybePromise<HandlerPart<Service, Name>>,
  name: NoInfer<Name>,
): ServerHandler {
  const handler = deferred(part, name);
  return (context, rest) => handler(context, '', rest);
}
