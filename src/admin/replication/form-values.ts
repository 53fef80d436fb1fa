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
  readonly which: 'all' | 'selector' | 'ids' | 'filter';
  readonly selector: string;
  /** One on each line. */
  readonly ids: string;
  /** `design/name`: a filter function of the source. */
  readonly filter: string;
  /** `name=value`, one on each line. */
  readonly filterParameters: string;
  /** Empty: at the checkpoint. */
  readonly since: string;
  readonly usesCheckpoints: boolean;
  /** Seconds; empty: as the server does. */
  readonly checkpointSeconds: string;
  /** Empty: none. */
  readonly proxy: string;
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
  filter: '',
  filterParameters: '',
  since: '',
  usesCheckpoints: true,
  checkpointSeconds: '',
  proxy: '',
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
  return whyNoSelection(values) ?? whyBadOption(values);
}

function whyNoSelection({ which, selector, ids, filter, filterParameters }: FormValues): string | undefined {
  if (which === 'selector') return whyNoSelector(selector);
  if (which === 'ids' && idsOf(ids).length === 0) return 'Name at least one document.';
  return which === 'filter' ? (whyNoFilter(filter) ?? whyBadParameters(filterParameters)) : undefined;
}

/** Why the name of a filter function can't be used. Those that begin with `_` belong to the server. */
export function whyNoFilter(filter: string): string | undefined {
  if (filter === '') return 'Name the filter function.';
  return /^_|^[^/]+\/[^/]+$/.test(filter) ? undefined : 'A filter function is named like design/name.';
}

export function whyBadParameters(text: string): string | undefined {
  const bad = linesOf(text).find((line) => !/^[^=\s][^=]*=/.test(line));
  return bad === undefined ? undefined : `A parameter of the filter is like name=value, and “${bad}” is not.`;
}

function whyBadOption({ checkpointSeconds, proxy }: FormValues): string | undefined {
  if (checkpointSeconds !== '' && !(Number(checkpointSeconds) > 0)) {
    return 'The time between two checkpoints must be a number of seconds above 0.';
  }
  return proxy !== '' && !(/^(https?|socks5):\/\/[^/]/.test(proxy) && URL.canParse(proxy))
    ? 'The address of the proxy must be like http://proxy.example.org:3128 or socks5://….'
    : undefined;
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
    ...optionsOf(values),
    ...(isDocument && rightsOfDocument()),
  };
}

function selectionOf({ which, selector, ids, filter, filterParameters }: FormValues): JsonObject {
  if (which === 'selector') return { selector: JSON.parse(selector) };
  if (which === 'ids') return { doc_ids: idsOf(ids) };
  if (which !== 'filter') return {};
  const pairs = linesOf(filterParameters).map((line) => {
    const at = line.indexOf('=');
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return { filter, ...(pairs.length > 0 && { query_params: Object.fromEntries(pairs) }) };
}

/** What differs from what the server does anyway. */
function optionsOf({ since, usesCheckpoints, checkpointSeconds, proxy }: FormValues): JsonObject {
  const seq = /^\d+$/.test(since) ? Number(since) : since;
  return {
    ...(since !== '' && { since_seq: seq }),
    ...(!usesCheckpoints && { use_checkpoints: false }),
    ...(usesCheckpoints &&
      checkpointSeconds !== '' && { checkpoint_interval: Math.round(Number(checkpointSeconds) * 1000) }),
    ...(proxy !== '' && { proxy }),
  };
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
  return linesOf(text).map((line) => line.replace(/%(?=[0-9a-f]{2})/gi, '%25'));
}

/** Without empty ones, and without spaces around them. */
function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

export function requestOf({ isDocument, docId }: FormValues, members: JsonObject): ServerRequest {
  const json = JSON.stringify(members);
  if (!isDocument) return { method: 'POST', path: '_replicate', json };
  return docId === ''
    ? { method: 'POST', path: pathOf('_replicator'), json }
    : { method: 'PUT', path: pathOf('_replicator', docId), json };
}
