/** What a path leads to: resources with their methods, and for each method who may use it and what answers. */
import type { DocId } from '../../documents/contract.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import type { Answer, Context } from '../request/context.ts';
import { MethodNotAllowed } from '../response/error-table.ts';
import { authorize, type Right } from './access.ts';
import type { FunctionHandlers } from './deferred-handlers.ts';

export type ServerHandler = (context: Context, rest: readonly string[]) => MaybePromise<Answer>;
/** `rest`: the segments behind the path's last named one. */
export type DatabaseHandler = (context: Context, database: string, rest: readonly string[]) => MaybePromise<Answer>;
export type DocumentHandler = (context: Context, database: string, id: DocId) => MaybePromise<Answer>;

export interface Action<H> {
  readonly right: Right;
  readonly handler: H;
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
export function find<H>(
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

/** Answers with what a browser loads on first use. */
export function useLent<T>(context: Context, answer: (handlers: FunctionHandlers) => MaybePromise<T>): MaybePromise<T> {
  return whenReady(context.services.functionHandlers(), answer);
}

export function resource<H>(allow: string, actions: Readonly<Record<string, Action<H>>>): Resource<H> {
  return { allow, actions: new Map(Object.entries(actions)) };
}

export function anyone<H>(handler: H): Action<H> {
  return { right: 'anyone', handler };
}

export function member<H>(handler: H): Action<H> {
  return { right: 'member', handler };
}

export function databaseAdmin<H>(handler: H): Action<H> {
  return { right: 'databaseAdmin', handler };
}

export function serverAdmin<H>(handler: H): Action<H> {
  return { right: 'serverAdmin', handler };
}
