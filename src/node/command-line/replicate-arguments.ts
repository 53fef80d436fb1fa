/** The options of `settee replicate`, as the members of a replication request. */
import type { JsonObject } from '../../base/json/objects.ts';
import type { StoragePlace } from '../data-folder/maintained-storage.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { ReplicateOptions } from './replicate.ts';

/** For `parseArgs`. */
export const replicateFlags = {
  continuous: { type: 'boolean' },
  'create-target': { type: 'boolean' },
  'doc-ids': { type: 'string', multiple: true },
  filter: { type: 'string' },
  param: { type: 'string', multiple: true },
  selector: { type: 'string' },
  since: { type: 'string' },
  'retry-refused': { type: 'boolean' },
  proxy: { type: 'string' },
  retries: { type: 'string' },
} as const;

export interface ReplicateValues {
  readonly continuous?: boolean | undefined;
  readonly 'create-target'?: boolean | undefined;
  readonly 'doc-ids'?: readonly string[] | undefined;
  readonly filter?: string | undefined;
  readonly param?: readonly string[] | undefined;
  readonly selector?: string | undefined;
  readonly since?: string | undefined;
  readonly 'retry-refused'?: boolean | undefined;
  readonly proxy?: string | undefined;
  readonly retries?: string | undefined;
}

/** Throws a `UsageError`, which repeats no address: an address may contain a password. */
export function toReplicateOptions(
  values: ReplicateValues,
  positionals: readonly string[],
  place: StoragePlace,
): ReplicateOptions {
  const [source, target, ...surplus] = positionals;
  if (source === undefined || target === undefined || surplus.length > 0) {
    throw usage('Name both databases: settee replicate SOURCE TARGET');
  }
  if (values.continuous && values['retry-refused']) {
    throw usage("--retry-refused can't be combined with --continuous; leave one of them out.");
  }
  const members: JsonObject = {
    source,
    target,
    continuous: values.continuous,
    create_target: values['create-target'],
    doc_ids: values['doc-ids']?.flatMap((ids) => ids.split(',')),
    filter: values.filter,
    query_params: values.param && Object.fromEntries(values.param.map(toParameter)),
    selector: values.selector === undefined ? undefined : parseJson('--selector', values.selector),
    since_seq: values.since === undefined ? undefined : toSequence(values.since),
    proxy: values.proxy,
    retries_per_request: values.retries,
  };
  return { members, retryRefused: values['retry-refused'] ?? false, ...place };
}

function toParameter(text: string): readonly [string, string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw usage(`--param is "${text}"; it must be NAME=VALUE.`);
  return [name, value];
}

/** A number or a list in the form in which servers write them; anything else is the text of a sequence. */
function toSequence(text: string): unknown {
  return /^(\d{1,15}|\[.*\])$/s.test(text) ? parseJson('--since', text) : text;
}

function parseJson(flag: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usage(`${flag} is not JSON: ${text}`);
  }
}

function usage(message: string): UsageError {
  return new UsageError(message, 'replicate');
}
