/**
 * Parses the body of `POST /_replicate`, or a document of `_replicator`, as a replication (docs/http/replication.md). Each invalid member
 * is refused with `bad_request` and the reason; unknown members are ignored.
 */

import { isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject } from '../../base/json/objects.ts';
import { sortInSteps } from '../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, filterInSteps, mapInSteps } from '../../base/shared/turn.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import { parseSelector } from '../../queries/find/selectors/selector-parser.ts';
import type { Replication, Selection, Sequence, WhyEnded } from '../contract.ts';
import { type EndpointOptions, locateEndpoint, parseEndpoint, parseProxy } from './endpoint.ts';
import type { ReplicationDefaults } from './replicator-settings.ts';
import {
  booleanMember,
  integerMember,
  invalid,
  jsonTextsByName,
  memberOf,
  objectMember,
  textMember,
  textsByName,
  textsMember,
} from './request-members.ts';
import type { RequestSender } from './rights.ts';

const A_DAY_MS = 86_400_000;
const RANGES = {
  worker_batch_size: { lowest: 1, highest: 10_000 },
  worker_processes: { lowest: 1, highest: 64 },
  http_connections: { lowest: 1, highest: 256 },
  connection_timeout: { lowest: 1, highest: A_DAY_MS },
  retries_per_request: { lowest: 0, highest: 1_000 },
  checkpoint_interval: { lowest: 1, highest: A_DAY_MS },
} as const;

/** Higher values are reduced to these. */
const MAX_PARALLEL = { workers: 64, connections: 64 };
const MAX_OF_USERS = { workers: 16, connections: 32 };

/** What a request provides besides its body. */
export interface RequestOrigin extends RequestSender {
  /** Absolute addresses by which the service is known, without a slash at their ends. */
  readonly ownBases: readonly string[];
  /** IP address of the client, if it is known. */
  readonly address?: string | undefined;
  /** See `Asker`. */
  readonly trace?: Replication['asker']['trace'];
}

export interface RequestOptions extends EndpointOptions {
  readonly defaults: ReplicationDefaults;
  readonly user: DatabaseUser;
  readonly whyEnded?: WhyEnded | undefined;
  readonly rightsUntil?: number | undefined;
  /** Filter parameters may be any JSON values, sent as text; otherwise they must be strings. */
  readonly takesAnyParameters?: boolean;
}

/** What `POST /_replicate` asks for. */
export type ReplicateRequest =
  | { readonly kind: 'start'; readonly replication: Replication; readonly retryRefused: boolean }
  | { readonly kind: 'cancel'; readonly replication: Replication }
  | { readonly kind: 'cancelById'; readonly id: string }
  | { readonly kind: 'retryById'; readonly id: string };

/** Fails with `bad_request`. */
export function* parseReplicateRequest(body: JsonObject, options: RequestOptions): CooperativeTask<ReplicateRequest> {
  const cancels = booleanMember(body, 'cancel') ?? false;
  const retryRefused = booleanMember(body, 'retry_refused') ?? false;
  const id = cancels || retryRefused ? idOf(body) : undefined;
  if (id !== undefined) return { kind: cancels ? 'cancelById' : 'retryById', id };
  const replication = yield* parseReplication(body, options);
  return cancels ? { kind: 'cancel', replication } : { kind: 'start', replication, retryRefused };
}

function idOf(body: JsonObject): string | undefined {
  return textMember(body, 'replication_id') ?? textMember(body, 'id') ?? textMember(body, '_local_id');
}

/** Runs in steps: a list of ids may be long. Fails with `bad_request`. */
export function* parseReplication(body: JsonObject, options: RequestOptions): CooperativeTask<Replication> {
  const { defaults, user, asker, whyEnded, rightsUntil } = options;
  const proxy = parseProxy('proxy', memberOf(body, 'proxy'));
  const sourceProxy = parseProxy('source_proxy', memberOf(body, 'source_proxy')) ?? proxy;
  const targetProxy = parseProxy('target_proxy', memberOf(body, 'target_proxy')) ?? proxy;
  const number = (name: keyof typeof RANGES) => integerMember(body, name, RANGES[name]);
  const most = asker.isAdmin ? MAX_PARALLEL : MAX_OF_USERS;
  const [workers, connections] = [number('worker_processes'), number('http_connections')];
  return {
    source: parseEndpoint('source', memberOf(body, 'source'), sourceProxy, options),
    target: parseEndpoint('target', memberOf(body, 'target'), targetProxy, options),
    continuous: booleanMember(body, 'continuous') ?? false,
    createTarget: booleanMember(body, 'create_target') ?? false,
    selection: yield* parseSelection(body, options.takesAnyParameters ?? false),
    designDocs: booleanMember(body, 'design_docs'),
    sinceSeq: parseSequence(memberOf(body, 'since_seq')),
    useCheckpoints: booleanMember(body, 'use_checkpoints') ?? defaults.useCheckpoints,
    checkpointIntervalMs: number('checkpoint_interval') ?? defaults.checkpointIntervalMs,
    batchSize: number('worker_batch_size') ?? defaults.batchSize,
    workers: workers === undefined ? defaults.workers : Math.min(workers, most.workers),
    connections: connections === undefined ? defaults.connections : Math.min(connections, most.connections),
    connectionTimeoutMs: number('connection_timeout') ?? defaults.connectionTimeoutMs,
    retriesPerRequest: number('retries_per_request') ?? defaults.retriesPerRequest,
    user,
    ...{ whyEnded, rightsUntil },
    asker,
  };
}

/** Returns the same, with what needs the network (`locateEndpoint`). Fails with `bad_request`. */
export async function locateReplication(replication: Replication, options: EndpointOptions): Promise<Replication> {
  const [source, target] = await Promise.all([
    locateEndpoint('source', replication.source, options),
    locateEndpoint('target', replication.target, options),
  ]);
  return { ...replication, source, target };
}

function* parseSelection(body: JsonObject, takesAnyParameters: boolean): CooperativeTask<Selection | undefined> {
  const given = textsMember(body, 'doc_ids');
  const ids = given && (yield* mapInSteps(given, decodeId));
  const filter = textMember(body, 'filter');
  const selector = objectMember(body, 'selector');
  const byName = objectMember(body, 'query_params') ?? {};
  const parameters = takesAnyParameters ? jsonTextsByName(byName) : textsByName(byName);
  const named = filter === '_doc_ids' || filter === '_selector' ? undefined : filter;
  if ([ids, named, selector].filter((given) => given !== undefined).length > 1) {
    throw invalid('`doc_ids`, `filter`, `selector` are mutually exclusive');
  }
  if (ids !== undefined) return { kind: 'ids', ids: yield* distinct(ids) };
  if (selector !== undefined) return parseSelectorMember(selector);
  if (named === undefined) {
    if (filter !== undefined) throw invalid(`The filter \`${filter}' requires the \`${filter.slice(1)}' field.`);
    return undefined;
  }
  if (!named.startsWith('_') && !/^[^/]+\/.+$/.test(named)) {
    throw invalid("The `filter' field must have the form designname/filtername.");
  }
  const inOrder = Object.entries(parameters).sort(([one], [other]) => (one < other ? -1 : 1));
  return { kind: 'filter', filter: named, parameters: Object.fromEntries(inOrder) };
}

function* distinct(ids: readonly string[]): CooperativeTask<readonly string[]> {
  const seen = new Set<string>();
  const once = yield* filterInSteps(ids, (id) => seen.size < seen.add(id).size);
  return yield* sortInSteps(once, (one, other) => (one < other ? -1 : 1));
}

/** Fails with `bad_request` if the object is not a selector, rather than when the source is asked. */
function parseSelectorMember(selector: JsonObject): Selection {
  try {
    parseSelector(selector);
  } catch (failure) {
    if (!isDatabaseError(failure, 'bad_request')) throw failure;
    throw invalid(failure.reason);
  }
  return { kind: 'selector', selector: JSON.stringify(selector) };
}

/** Percent-encoded UTF-8; other text stays unchanged. */
const ENCODED = /(?:%[\da-f]{2})+/gi;

/**
 * Ids are percent-decoded, as in all servers of the family: some clients send them as in a path. A `+` stays one. An id that
 * itself contains a `%` followed by two hexadecimal digits has to be sent encoded.
 */
function decodeId(id: string): string {
  return id.replace(ENCODED, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}

function parseSequence(value: unknown): Sequence | undefined {
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number' && value >= 0) return value;
  if (Array.isArray(value)) return value;
  throw invalid("The `since_seq' field must be a sequence of the source: a number, a string or an array.");
}

/** Parses the `user_ctx` of a document: the user whose rights a local side uses. Fails with `bad_request`. */
export function parseUser(value: unknown): DatabaseUser | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) throw invalid("The `user_ctx' property must be a non-null object.");
  const name = memberOf(value, 'name') ?? null;
  const roles = textsMember(value, 'roles') ?? [];
  if (name !== null && (typeof name !== 'string' || name === '')) {
    throw invalid("The `user_ctx.name' property must be a non-empty string or null.");
  }
  if (roles.includes('')) throw invalid('Roles must be non-empty strings.');
  return { name, roles };
}
