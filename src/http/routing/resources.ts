/** What a path leads to: resources with their methods, and for each method who may use it and what answers. */
import { DatabaseError } from '../../errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import type { Context } from '../request/context.ts';
import type { DatabaseHandler, HandlerPart } from '../request/handlers.ts';
import { MethodNotAllowed } from '../response/error-table.ts';
import { authorize, type Right } from './access.ts';

export interface Action<H> {
  readonly right: Right;
  readonly handler: H;
  /** Of a POST: it changes nothing, as `http/address/read-only-requests.ts` says of it too. */
  readonly isReadOnly: boolean;
}

export interface Resource<H> {
  /** For the `Allow` header. */
  readonly allow: string;
  readonly actions: ReadonlyMap<string, Action<H>>;
}

/** Resources by their path. One that ends in `/*` matches where further segments follow, and also without any of its own. */
export type Table<H> = ReadonlyMap<string, Resource<H>>;

const UNDERSCORE = 0x5f;

/** Such words are no names of documents, and of few databases. */
export function isReserved(word: string): boolean {
  return word.charCodeAt(0) === UNDERSCORE;
}

/** The table's row for that path, with the segments that it leaves to the handler. */
export function findResource<H>(
  table: Table<H>,
  first: string,
  rest: readonly string[],
): { readonly resource: Resource<H>; readonly rest: readonly string[] } | undefined {
  // All rows of several segments begin with a reserved word; a document's address need not be put together.
  if (rest.length > 0 && !isReserved(first)) return undefined;
  const exact = table.get(rest.length === 0 ? first : `${first}/${rest.join('/')}`);
  if (exact !== undefined) return { resource: exact, rest: [] };
  const open = isReserved(first) ? table.get(`${first}/*`) : undefined;
  return open === undefined ? undefined : { resource: open, rest };
}

/** Fails with `method_not_allowed`, or with `unauthorized`. */
export function handlerOf<H>(context: Context, resource: Resource<H>): H {
  const action = resource.actions.get(context.method);
  if (action === undefined) throw new MethodNotAllowed(resource.allow);
  authorize(context, action.right);
  return action.handler;
}

export function resource<H>(allow: string, actions: Readonly<Record<string, Action<H>>>): Resource<H> {
  return { allow, actions: new Map(Object.entries(actions)) };
}

/** A resource all of whose methods do the same. */
export function sameForAll<H>(allow: string, action: Action<H>): Resource<H> {
  return { allow, actions: new Map(allow.split(',').map((method) => [method, action])) };
}

/** The resource with one more method, which `Allow` does not name. */
export function withMethod<H>({ allow, actions }: Resource<H>, method: string, action: Action<H>): Resource<H> {
  return { allow, actions: new Map([...actions, [method, action]]) };
}

/** Says why a method is not allowed that others of its resource would lead one to expect. */
export function refuse(allow: string, reason: string): () => never {
  return () => {
    throw new MethodNotAllowed(allow, reason);
  };
}

/** What a later version answers: the methods that it will have say so, with 501, and nothing is changed. */
export function notImplemented(allow: string, what: string, effect?: 'reads'): Resource<() => never> {
  const refuse = (): never => {
    throw new DatabaseError('not_implemented', `${what} not implemented yet.`);
  };
  return sameForAll(allow, anyone(refuse, effect));
}

export function anyone<H>(handler: H, effect?: 'reads'): Action<H> {
  return { right: 'anyone', handler, isReadOnly: effect === 'reads' };
}

export function member<H>(handler: H, effect?: 'reads'): Action<H> {
  return { right: 'member', handler, isReadOnly: effect === 'reads' };
}

export function databaseAdmin<H>(handler: H, effect?: 'reads'): Action<H> {
  return { right: 'databaseAdmin', handler, isReadOnly: effect === 'reads' };
}

export function serverAdmin<H>(handler: H, effect?: 'reads'): Action<H> {
  return { right: 'serverAdmin', handler, isReadOnly: effect === 'reads' };
}

/** A handler of a part that is loaded on first use, by its name. Fails with `functions_unavailable` where that can't be loaded. */
export function deferred<Service, Name extends string>(
  part: () => MaybePromise<HandlerPart<Service, Name>>,
  name: NoInfer<Name>,
): DatabaseHandler {
  return (context, database, rest) =>
    whenReady(part(), ({ service, handlers }) => handlers[name](service, context, database, rest));
}
