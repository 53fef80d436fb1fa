/** The types of request handlers. */

import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { DocId } from '../../database/documents/contract.ts';
import type { Answer, Context } from './context.ts';

/** `rest`: the segments after the path's last named one. */
export type ServerHandler = (context: Context, rest: readonly string[]) => MaybePromise<Answer>;
export type DatabaseHandler = (context: Context, database: string, rest: readonly string[]) => MaybePromise<Answer>;
export type DocumentHandler = (context: Context, database: string, id: DocId) => MaybePromise<Answer>;
export type AttachmentHandler = (context: Context, database: string, id: DocId, name: string) => MaybePromise<Answer>;

/** A handler of a part that is loaded on first use: takes the service that the part provides, then what other handlers take. */
type PartHandler<Service> = (
  service: Service,
  context: Context,
  database: string,
  rest: readonly string[],
) => MaybePromise<Answer>;

export type PartHandlers<Service> = Readonly<Record<string, PartHandler<Service>>>;

/** How such a part answers requests: its handlers by name. */
export interface HandlerPart<Service, Name extends string> {
  readonly service: Service;
  readonly handlers: Readonly<Record<Name, PartHandler<Service>>>;
}
