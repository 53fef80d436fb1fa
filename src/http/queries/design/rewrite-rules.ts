/**
 * The rewrite rules of a design document (docs/http/functions.md#rewrite-rules): which rule a path below `_rewrite/` matches first, and the path
 * and query that it turns them into. Pure: sends no request.
 */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isShallow } from '../../../base/json/nesting.ts';
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { type CooperativeTask, mapInSteps } from '../../../base/shared/turn.ts';
import { JSON_PARAMETERS } from '../../request/list-parameters.ts';
import { jsonValue, SIGNATURE } from './function-request.ts';

interface RewriteRequest {
  /** `HEAD` for HEAD requests, which rules for GET match as well. */
  readonly method: string;
  /** Below `_rewrite/`, decoded. */
  readonly path: readonly string[];
  readonly query: Iterable<readonly [string, string]>;
}

interface RewriteOptions {
  /** Whether rules must not lead above the database (setting `httpd/secure_rewrites`). */
  readonly isSecure: boolean;
}

export interface Rewritten {
  /** Below the design document, decoded; begins with `..` if it leads out of it. */
  readonly path: readonly string[];
  /** Encoded, without a question mark. */
  readonly search: string;
}

interface Rule {
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly method: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly formats: Readonly<Record<string, unknown>>;
}

type Bindings = ReadonlyMap<string, unknown>;

const ANYTHING = '*';
/** Each request reads all of them. */
const MAX_RULES = 10_000;
/** How many steps lead from a design document to its database. */
const STEPS_TO_DATABASE = 2;

/**
 * `rules` is the design document's member `rewrites`. Fails with `rewrite_error` or `rewrite_rules_error` if there
 * are no rules, with `not_found` "missing" if none matches, and with `insecure_rewrite_rule`.
 */
export function* rewrite(rules: unknown, request: RewriteRequest, options: RewriteOptions): CooperativeTask<Rewritten> {
  const query = [...request.query];
  // The author of a rule must not learn the secrets with which other users sign their requests.
  const readable = query.filter(([name]) => name !== SIGNATURE);
  for (const rule of yield* parseRules(rules, options)) {
    const bound = bindPath(rule, request);
    if (bound === undefined) continue;
    const { named, rest } = bound;
    const bindings: Bindings = new Map<string, unknown>([...readable.map(meant), ...named]);
    const made = Object.entries(rule.query).map(([name, value]): [string, unknown] => {
      return [name, fillValue(value, { rule, bindings, rest })];
    });
    const added = [...named, ...made].map(([name, value]): [string, string] => {
      return [name, JSON_PARAMETERS.has(name) ? JSON.stringify(value) : shown(value)];
    });
    const search = new URLSearchParams([...new Map([...query, ...added])]).toString();
    const filled = new Map([...bindings, ...made]);
    const path = rule.to.flatMap((segment) => fillSegment(segment, filled, rest));
    // Values from the request may contain `..` as well.
    if (options.isSecure && stepsUp(path) > STEPS_TO_DATABASE) throw tooFarUp();
    return { path, search };
  }
  throw new DatabaseError('not_found', 'missing');
}

/** The value of a parameter, which may be more than a text. */
function meant([name, text]: readonly [string, string]): [string, unknown] {
  const value = JSON_PARAMETERS.has(name) ? jsonValue(text) : text;
  return [name, isShallow(value) ? value : text];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function* parseRules(rules: unknown, options: RewriteOptions): CooperativeTask<readonly Rule[]> {
  if (rules === undefined) throw new DatabaseError('rewrite_error', 'Invalid path.');
  if (typeof rules === 'string') {
    throw new DatabaseError('rewrite_rules_error', 'Rewrite rules are a String. They must be a JSON Array.');
  }
  if (!Array.isArray(rules)) throw new DatabaseError('rewrite_rules_error', 'Rewrite rules must be a JSON Array.');
  if (rules.length > MAX_RULES) {
    const reason = `A design document has ${MAX_RULES} rewrite rules at most, and this one has ${rules.length}. Use variables such as ":id" in their paths.`;
    throw new DatabaseError('rewrite_rules_error', reason);
  }
  return yield* mapInSteps(rules, (rule: unknown) => parseRule(rule, options));
}

function parseRule(rule: unknown, { isSecure }: RewriteOptions): Rule {
  const to = isObject(rule) ? ownMember(rule, 'to') : undefined;
  if (!isObject(rule) || typeof to !== 'string') {
    throw new DatabaseError('rewrite_rules_error', 'A rewrite rule must be a JSON object with a member "to".');
  }
  if (!isShallow(rule))
    throw new DatabaseError(
      'rewrite_rules_error',
      'A rewrite rule is nested too deeply. Give its members fewer levels.',
    );
  const from = ownMember(rule, 'from');
  const method = ownMember(rule, 'method');
  const query = ownMember(rule, 'query');
  const formats = ownMember(rule, 'formats');
  const target = segmentsOf(to);
  if (isSecure && target.filter((segment) => segment === '..').length > STEPS_TO_DATABASE) {
    throw tooFarUp();
  }
  return {
    from: typeof from === 'string' ? segmentsOf(from) : [ANYTHING],
    to: target,
    method: typeof method === 'string' ? method : ANYTHING,
    query: isObject(query) ? query : {},
    formats: isObject(formats) ? formats : {},
  };
}

/** How far above the design document a path leads at its highest point. */
function stepsUp(path: readonly string[]): number {
  let highest = 0;
  let at = 0;
  for (const segment of path) {
    at += segment === '..' ? 1 : -1;
    highest = Math.max(highest, at);
  }
  return highest;
}

function tooFarUp(): DatabaseError {
  return new DatabaseError('insecure_rewrite_rule', 'too many ../.. segments');
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '' && segment !== '.');
}

/** Returns the values of the variables in `from`, and what its final `*` covers; undefined if the rule does not match. */
function bindPath(
  { from, method }: Rule,
  request: RewriteRequest,
): { readonly named: [string, string][]; readonly rest: readonly string[] } | undefined {
  const isMeant = method === request.method || (method === 'GET' && request.method === 'HEAD');
  if (method !== ANYTHING && !isMeant) return undefined;
  const { path } = request;
  const named: [string, string][] = [];
  for (const [index, segment] of from.entries()) {
    if (segment === ANYTHING && index === from.length - 1) return { named, rest: path.slice(index) };
    const given = path[index];
    if (given === undefined) return undefined;
    if (segment.startsWith(':')) named.push([segment.slice(1), given]);
    else if (segment !== given) return undefined;
  }
  return from.length === path.length ? { named, rest: [] } : undefined;
}

interface Filling {
  readonly rule: Rule;
  readonly bindings: Bindings;
  readonly rest: readonly string[];
}

/** Replaces `":name"` and `"*"`, alone or in lists; a variable without a value stays as it is. */
function fillValue(value: unknown, filling: Filling): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => fillValue(item, filling));
  if (typeof value !== 'string') return value;
  if (value === ANYTHING) return filling.rest.length === 0 ? value : filling.rest.join('/');
  if (!value.startsWith(':')) return value;
  const name = value.slice(1);
  const bound = filling.bindings.get(name);
  if (typeof bound === 'string') return inFormat(bound, ownMember(filling.rule.formats, name));
  return bound === undefined ? value : bound;
}

/** A text that does not have the required format stays a text. */
function inFormat(text: string, format: unknown): unknown {
  if (format === 'int' && /^[+-]?\d+$/.test(text)) return Number(text);
  if (format === 'bool' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return text;
}

function fillSegment(segment: string, bindings: Bindings, rest: readonly string[]): readonly string[] {
  if (segment === ANYTHING) return rest;
  if (!segment.startsWith(':')) return [segment];
  const bound = bindings.get(segment.slice(1));
  return [bound === undefined ? segment : shown(bound)];
}
