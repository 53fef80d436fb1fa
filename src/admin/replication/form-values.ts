/** What the form for a replication contains, and the request that it means. */
import { base, type Json, type JsonObject, pathOf, type ServerRequest } from '../server/client.ts';
import { server, session } from '../server/session.ts';

export interface EndpointValues {
  readonly kind: 'local' | 'url';
  readonly database: string;
  readonly url: string;
  readonly name: string;
  readonly password: string;
}

export interface FormValues {
  readonly source: EndpointValues;
  readonly target: EndpointValues;
  /** A document of `_replicator`; otherwise a request. */
  readonly isDocument: boolean;
  readonly docId: string;
  readonly isContinuous: boolean;
  readonly createTarget: boolean;
  readonly which: 'all' | 'selector' | 'ids';
  readonly selector: string;
  /** One on each line. */
  readonly ids: string;
}

const NO_ENDPOINT: EndpointValues = { kind: 'local', database: '', url: '', name: '', password: '' };

export const NO_VALUES: FormValues = {
  source: NO_ENDPOINT,
  target: NO_ENDPOINT,
  isDocument: true,
  docId: '',
  isContinuous: false,
  createTarget: false,
  which: 'all',
  selector: '{\n  "type": "note"\n}',
  ids: '',
};

/** Other servers of the family reach their own databases by address only, with a name and a password. */
export function needsCredentials(kind: EndpointValues['kind']): boolean {
  return kind === 'url' || server.value?.isSettee !== true;
}

/** Why the form means nothing yet; undefined: it is complete. */
export function whyIncomplete(values: FormValues): string | undefined {
  const why = whyNoEndpoint(values.source, 'source') ?? whyNoEndpoint(values.target, 'target');
  if (why !== undefined) return why;
  if (JSON.stringify(toEndpoint(values.source)) === JSON.stringify(toEndpoint(values.target))) {
    return 'The source and the target are the same.';
  }
  if (values.which === 'selector') return whyNoSelector(values.selector);
  return values.which === 'ids' && idsOf(values.ids).length === 0 ? 'Name at least one document.' : undefined;
}

function whyNoEndpoint({ kind, database, url, name, password }: EndpointValues, which: string): string | undefined {
  if (kind === 'local' && database === '') return `Choose the database that is the ${which}.`;
  if (kind === 'url' && !/^https?:\/\/[^/]+\/./.test(url)) {
    return `The address of the ${which} must be like https://example.org/library.`;
  }
  if (kind === 'url' && !URL.canParse(url)) return `The address of the ${which} is not valid.`;
  return password !== '' && name === '' ? `The ${which} has a password, but no name.` : undefined;
}

export function whyNoSelector(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? undefined : 'The selector must be an object, such as {"type": "note"}.';
  } catch (error) {
    return `The selector is not JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/** The members of the request or the document, passwords included. */
export function membersOf(values: FormValues): JsonObject {
  const { source, target, isDocument, isContinuous, createTarget } = values;
  return {
    source: toEndpoint(source),
    target: toEndpoint(target),
    ...(isContinuous && { continuous: true }),
    ...(createTarget && { create_target: true }),
    ...selectionOf(values),
    ...(isDocument && rightsOfDocument()),
  };
}

function selectionOf({ which, selector, ids }: FormValues): JsonObject {
  if (which === 'selector') return { selector: JSON.parse(selector) };
  return which === 'ids' ? { doc_ids: idsOf(ids) } : {};
}

/** Admins' documents have all rights without it. */
function rightsOfDocument(): JsonObject {
  const { name, roles } = session.value;
  return roles.includes('_admin') ? {} : { user_ctx: { name, roles } };
}

function toEndpoint({ kind, database, url, name, password }: EndpointValues): Json {
  if (kind === 'local' && !needsCredentials(kind)) return database;
  const address = kind === 'local' ? new URL(pathOf(database), base) : new URL(url);
  if (name !== '') {
    address.username = encodeURIComponent(name);
    address.password = encodeURIComponent(password);
  }
  return address.href;
}

/** The server decodes them. */
function idsOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim().replace(/%(?=[0-9a-f]{2})/gi, '%25'))
    .filter((line) => line !== '');
}

export function requestOf({ isDocument, docId }: FormValues, members: JsonObject): ServerRequest {
  const json = JSON.stringify(members);
  if (!isDocument) return { method: 'POST', path: '_replicate', json };
  return docId === ''
    ? { method: 'POST', path: pathOf('_replicator'), json }
    : { method: 'PUT', path: pathOf('_replicator', docId), json };
}
