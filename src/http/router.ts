/**
 * Finds the resource that a path names and the handler of the method (docs/http/requests.md#request-path), and decides who may do
 * what (docs/http/accounts.md#access-rights): each route names the right that it needs, and what members who are not admins may do
 * with it in system databases.
 */

import { authorizeUser } from '../accounts/access/access.ts';
import { isDatabaseAdmin, isServerAdmin } from '../accounts/access/security.ts';
import { DatabaseError } from '../base/errors/database-error.ts';
import { type MaybePromise, whenReady, withEnd } from '../base/shared/maybe-promise.ts';
import { integerSetting } from '../base/system/config.ts';
import { REPLICATOR_DATABASE } from '../base/system/contract.ts';
import type { DocId } from '../database/documents/contract.ts';
import { parseDocId } from '../database/documents/identifiers.ts';
import type { Database } from '../database/store/contract.ts';
import { readChangeParameters } from './database/change-parameters.ts';
import { isBelow, parseTarget } from './request/address.ts';
import { isStream, requireJsonType } from './request/bodies.ts';
import { boundedBody } from './request/bounded-upload.ts';
import type { Answer, Context, Handler } from './request/context.ts';
import type { DatabaseHandler, DocumentHandler } from './request/handlers.ts';
import { GrantedUpload } from './request/kept-rights.ts';
import { StandingRequest } from './request/standing-request.ts';
import type { Action, Resource, SystemRule, Table } from './resources.ts';
import { MethodNotAllowed } from './response/error-table.ts';
import { encodeDocId, fitsHeader, ownBase, toAscii, withLocation } from './response/locations.ts';
import type { Routes } from './routes.ts';
import type { AccountsPart } from './server/accounts/accounts-part.ts';

const DESIGN_WORD = '_design';
const LOCAL_WORD = '_local';

export class Router {
  readonly #routes: Routes;
  readonly #accounts: () => MaybePromise<AccountsPart>;

  constructor(routes: Routes, accounts: () => MaybePromise<AccountsPart>) {
    this.#routes = routes;
    this.#accounts = accounts;
  }

  /** Answers the request, or fails with an error of the error table. */
  readonly dispatch: Handler = (context) => {
    context.dispatch = this.dispatch;
    checkLength(context);
    const { basePath } = context.services;
    if (!isBelow(context.request.url, basePath)) throw outside(basePath);
    const { segments, search } = parseTarget(context.request.url, basePath);
    context.search = search;
    const first = segments[0] ?? '';
    const rest = segments.slice(1);
    const { server } = this.#routes;
    const found = findResource(server, first, rest);
    if (found !== undefined)
      return this.#answer(context, found.resource, undefined, (handler) => handler(context, found.rest));
    if (server.has(first)) throw new DatabaseError('not_found', 'missing');
    return this.#dispatchInDatabase(context, first, rest);
  };

  /**
   * Opens the database for the time in which the request is answered. Only checks that it exists if the body is still to arrive, so that
   * slow senders keep no databases open: then `Context.useDatabase` opens it. A missing database takes precedence over anything missing
   * below it (docs/http/requests.md#request-path).
   */
  #dispatchInDatabase(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
    if (needsSystemDatabase(context, database, path)) {
      return createByAnswering(context, database, () => this.#dispatchInDatabase(context, database, path));
    }
    // What creates or deletes a database finds out itself whether there is one, and a damaged one can be deleted without being opened.
    if (path.length === 0 && (context.method === 'PUT' || context.method === 'DELETE')) {
      return this.#dispatchBelow(context, database, path);
    }
    const { registry } = context.services;
    if (!isStream(context.request.body)) {
      return registry.use(database, (open) => this.#dispatchWhileOpen(context, open, path));
    }
    if (!registry.has(database)) throw new DatabaseError('not_found', 'no_db_file');
    return this.#dispatchBelow(context, database, path);
  }

  #dispatchWhileOpen(context: Context, open: Database, path: readonly string[]): MaybePromise<Answer> {
    context.database = open;
    return withEnd(
      () => this.#dispatchBelow(context, open.name, path),
      () => forgetDatabase(context),
    );
  }

  #dispatchBelow(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
    const first = path[0] ?? '';
    if (isReserved(first)) return this.#dispatchReserved(context, database, path);
    if (path.length === 1) return this.#answerDocument(context, this.#routes.document, database, parseDocId(first));
    const found = findResource(this.#routes.database, first, path.slice(1));
    if (found !== undefined) return this.#answerIn(context, found.resource, database, found.rest);
    return this.#answerAttachment(context, database, parseDocId(first), path.slice(1));
  }

  #dispatchReserved(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
    const [first = '', ...rest] = path;
    if (first === DESIGN_WORD) return this.#dispatchInDesign(context, database, rest);
    if (first === LOCAL_WORD) return this.#dispatchLocal(context, database, rest);
    if (first.startsWith(`${DESIGN_WORD}/`)) return this.#dispatchEncodedDesign(context, database, path);
    if (first.startsWith(`${LOCAL_WORD}/`)) {
      return this.#dispatchLocal(context, database, [first.slice(LOCAL_WORD.length + 1), ...rest]);
    }
    const found = findResource(this.#routes.database, first, rest);
    if (found !== undefined) return this.#answerIn(context, found.resource, database, found.rest);
    if (this.#routes.database.has(first)) throw new DatabaseError('not_found', 'missing');
    return this.#answerDocument(context, this.#routes.document, database, parseDocId(first));
  }

  /** A design document, a resource below it, or an attachment of it. */
  #dispatchInDesign(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
    const [name = '', ...rest] = path;
    const id = parseDocId(path.length === 0 ? DESIGN_WORD : `${DESIGN_WORD}/${name}`);
    if (rest.length === 0) return this.#answerDocument(context, this.#routes.document, database, id);
    const [first = '', ...behind] = rest;
    const found = findResource(this.#routes.design, first, behind);
    if (found !== undefined) return this.#answerIn(context, found.resource, database, [name, ...found.rest]);
    if (isReserved(first)) throw new DatabaseError('not_found', `missing handler: ${first}`);
    return this.#answerAttachment(context, database, id, rest);
  }

  /** `_design%2Fx`: redirects a GET to the plain slash, unless the address is too long; for all other methods both mean the same. */
  #dispatchEncodedDesign(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
    const [first = '', ...rest] = path;
    if (context.method === 'GET') {
      const location = plainDesignLocation(context, database, path);
      if (fitsHeader(location)) return withLocation({ status: 301, headers: {}, body: null }, location);
    }
    return this.#dispatchInDesign(context, database, [first.slice(DESIGN_WORD.length + 1), ...rest]);
  }

  /** Local documents have an id of one segment (docs/http/documents.md#local-documents). */
  #dispatchLocal(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
    if (path.length > 1) throw new DatabaseError('bad_request', '_local documents do not accept attachments.');
    const id = parseDocId(`${LOCAL_WORD}/${path[0] ?? ''}`);
    return this.#answerDocument(context, this.#routes.localDocument, database, id);
  }

  /** The name is everything after the document's id, including slashes. */
  #answerAttachment(context: Context, database: string, id: DocId, name: readonly string[]): MaybePromise<Answer> {
    return this.#answer(context, this.#routes.attachment, database, (handler) =>
      handler(context, database, id, name.join('/')),
    );
  }

  #answerIn(
    context: Context,
    resource: Resource<DatabaseHandler>,
    database: string,
    rest: readonly string[],
  ): MaybePromise<Answer> {
    return this.#answer(context, resource, database, (handler) => handler(context, database, rest));
  }

  #answerDocument(
    context: Context,
    resource: Resource<DocumentHandler>,
    database: string,
    id: DocId,
  ): MaybePromise<Answer> {
    return this.#answer(context, resource, database, (handler) => handler(context, database, id));
  }

  /** Has the handler of the method answer. Fails with `method_not_allowed`, `unauthorized` or `forbidden`. */
  #answer<H>(
    context: Context,
    { actions, allow }: Resource<H>,
    database: string | undefined,
    answer: (handler: H) => MaybePromise<Answer>,
  ): MaybePromise<Answer> {
    context.acceptsQuery = actions.has('QUERY');
    const action = actions.get(context.method);
    if (action === undefined) throw new MethodNotAllowed(allow);
    if (context.method === 'QUERY') requireJsonType(context);
    return whenReady(authorize(context, action, database, this.#accounts), () => {
      const { request, grant } = context;
      const body = boundedBody(context.services.config, request.body);
      if (grant !== undefined && isStream(body)) {
        context.request = new StandingRequest(request, { body: new GrantedUpload(body, context) });
      } else if (body !== request.body) context.request = new StandingRequest(request, { body });
      return answer(action.handler);
    });
  }
}

/** The address of a resource of a design document, with a plain slash. */
function plainDesignLocation(context: Context, database: string, path: readonly string[]): string {
  const [id = '', ...rest] = path;
  const plain = [encodeURIComponent(database), encodeDocId(id), ...rest.map(encodeURIComponent)].join('/');
  const query = context.search === '' ? '' : `?${context.search}`;
  return toAscii(`${ownBase(context)}/${plain}${query}`);
}

/**
 * Whether the request would write a document into a database that the service itself reads, and that does not exist yet: its first document
 * creates it (docs/http/databases.md#database-names).
 */
function needsSystemDatabase({ method, services }: Context, database: string, path: readonly string[]): boolean {
  if (database !== REPLICATOR_DATABASE || services.registry.has(database)) return false;
  const [first = ''] = path;
  if (method === 'POST') return path.length === 0 || first === '_bulk_docs';
  return method === 'PUT' && path.length > 0 && (!isReserved(first) || first === '_design');
}

/**
 * Answers the request in such a database, if the user may create databases: the database exists from the first accepted document on, and not
 * at all if none is accepted. Fails with `unauthorized`.
 */
function createByAnswering(context: Context, database: string, answer: Handler): Promise<Answer> {
  if (!isServerAdmin(context.user)) throw new DatabaseError('unauthorized', 'You are not a server admin.');
  const { services } = context;
  return services.registry.createByWriting(database, async (registry) => {
    context.services = { ...services, registry };
    try {
      return await answer(context);
    } finally {
      context.services = services;
    }
  });
}

/** What a response streams from now on keeps its database open itself. */
function forgetDatabase(context: Context): void {
  context.database = undefined;
}

function outside(basePath: string): DatabaseError {
  return new DatabaseError('not_found', `This service answers below ${basePath}/ only; begin the path with that.`);
}

/** docs/http/requests.md#request-path */
function checkLength(context: Context): void {
  const limit = integerSetting(context.services.config, 'httpd', 'max_uri_length');
  if (limit === undefined || context.request.url.length <= limit) return;
  throw new DatabaseError('too_long', 'the request entity is too long');
}

const UNDERSCORE = 0x5f;

/** Such words are not names of documents, and of only a few databases. */
function isReserved(word: string): boolean {
  return word.charCodeAt(0) === UNDERSCORE;
}

/** Finds the table's row for that path, with the segments that it leaves to the handler. */
function findResource<H>(
  table: Table<H>,
  first: string,
  rest: readonly string[],
): { readonly resource: Resource<H>; readonly rest: readonly string[] } | undefined {
  // All rows of several segments begin with a reserved word; a document's address need not be joined.
  if (rest.length > 0 && !isReserved(first)) return undefined;
  const exact = table.get(rest.length === 0 ? first : `${first}/${rest.join('/')}`);
  if (exact !== undefined) return { resource: exact, rest: [] };
  const open = isReserved(first) ? table.get(`${first}/*`) : undefined;
  return open === undefined ? undefined : { resource: open, rest };
}

/** Fails with `unauthorized`, or with `forbidden`. Synchronous if the database is open. */
export function authorize(
  context: Context,
  { right, inSystem }: Pick<Action<unknown>, 'right' | 'inSystem'>,
  database: string | undefined,
  accounts: () => MaybePromise<AccountsPart>,
): MaybePromise<void> {
  if (right === 'anyone') return;
  context.grant = { right, database };
  const { user, services } = context;
  if (isServerAdmin(user)) return;
  return whenReady(authorizeUser(services.access, user, context.grant), (security) => {
    if (database === undefined || !services.access.isSystemDatabase(database)) return;
    if (isDatabaseAdmin(user, security)) return;
    return whenReady(accounts(), (part) => {
      context.restriction = part.shieldOf(database, user);
      if (context.restriction !== undefined) checkRule(context, inSystem);
    });
  });
}

function checkRule(context: Context, rule: SystemRule | undefined): void {
  const { restriction } = context;
  if (rule === 'own' || rule === 'shown') return;
  if (rule === 'list') {
    if (restriction?.maySeeList === true) return;
    throw new DatabaseError('forbidden', 'Only admins can access _all_docs of system databases.');
  }
  if (rule === 'functions') {
    const reason = 'Only admins can access design document actions for system databases.';
    throw new DatabaseError('forbidden', reason);
  }
  if (rule === 'changes' && restriction?.maySeeChanges === true && !seesDocuments(context)) return;
  throw new DatabaseError('unauthorized', 'You are not a db or server admin.');
}

/** Uses the same reader as the handler: parameter names of `_changes` are case-insensitive. */
function seesDocuments(context: Context): boolean {
  const { includeDocs, filter } = readChangeParameters(context);
  return includeDocs || filter !== undefined;
}
