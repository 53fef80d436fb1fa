/**
 * `_config`: reads and changes the settings of the running service (docs/http/server.md#configuration). Answers after a change is in effect. Values
 * never go to the log: some are secrets.
 */
import { CustomCodeError, DatabaseError } from '../../../base/errors/database-error.ts';
import { whitelistSetting } from '../../../base/system/config.ts';
import type { ConfigStore } from '../../../base/system/contract.ts';
import { readJson } from '../../request/bodies.ts';
import { FEW_VALUES } from '../../request/body-bounds.ts';
import type { Answer, Context } from '../../request/context.ts';
import { assertKept } from '../../request/kept-rights.ts';
import { MethodNotAllowed } from '../../response/error-table.ts';
import { jsonAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';
import { assertKeepsAccess } from './kept-access.ts';

const ALLOW = 'GET,PUT,DELETE';
/** The section whose keys are the names of server admins, and whose values are their hashed passwords. */
const ADMINS = 'admins';

/** Sections of the family's present versions, which tools for them read (docs/http/server.md#names-of-settings). */
const FAMILY_SECTIONS = ['chttpd', 'chttpd_auth', 'couchdb'] as const;

/** `path`: section and key, if they are named. */
export async function answerConfig(
  service: AdministrationService,
  context: Context,
  path: readonly string[],
): Promise<Answer> {
  const [section, key, ...more] = path;
  if (more.length > 0) throw new DatabaseError('not_found', 'missing');
  if (context.method === 'GET') return jsonAnswer(context, 200, JSON.stringify(read(context, section, key)));
  if (section === undefined || key === undefined) throw new MethodNotAllowed(ALLOW);
  if (context.method === 'PUT') return put(service, context, section, key);
  if (context.method === 'DELETE') return remove(service, context, section, key);
  throw new MethodNotAllowed(ALLOW);
}

function read({ services: { config } }: Context, section: string | undefined, key: string | undefined): unknown {
  if (section === undefined) return config.sections();
  return key === undefined ? config.section(section) : mustGet(config, section, key);
}

/** The settings of a node: those of `_config`, also in the sections in which the family's present versions have them. */
export async function answerNodeConfig(
  service: AdministrationService,
  context: Context,
  path: readonly string[],
): Promise<Answer> {
  if (path.length > 0 || context.method !== 'GET') return answerConfig(service, context, path);
  const { config } = context.services;
  const ofFamily = FAMILY_SECTIONS.map((name) => [name, config.section(name)] as const);
  const all = Object.entries({ ...Object.fromEntries(ofFamily), ...config.sections() });
  const sorted = all.sort(([left], [right]) => (left < right ? -1 : 1));
  return jsonAnswer(context, 200, JSON.stringify(Object.fromEntries(sorted)));
}

/** Answers with the previous value; for admins with the stored value, which reveals no password. */
async function put(service: AdministrationService, context: Context, section: string, key: string): Promise<Answer> {
  const isRaw = readRaw(context);
  const given = await readJson(context, FEW_VALUES);
  if (typeof given !== 'string') {
    throw new DatabaseError('bad_request', 'The body must be the value as a JSON string, such as "100" for a number.');
  }
  if (section === ADMINS && given === '')
    throw new DatabaseError('bad_request', 'The password of an admin must not be empty.');
  if (section === ADMINS && !isRaw) return jsonText(context, await setAdmin(service, context, key, given));
  if (section === ADMINS && service.isUnreadableHash(given)) {
    const reason = 'The text begins like the hash of a password, but is not one: no one could log in with it.';
    throw new DatabaseError('bad_request', reason);
  }
  const before = await change(service, context, section, key, given);
  return jsonText(context, section === ADMINS ? given : before);
}

/** Stores the password's hash, and returns it. Fails with `modification_not_allowed`. */
export async function setAdmin(
  service: AdministrationService,
  context: Context,
  name: string,
  password: string,
): Promise<string> {
  assertChangeable(context.services.config, ADMINS, name);
  const hash = await service.hashAdminPassword(password);
  await change(service, context, ADMINS, name, hash);
  return hash;
}

/** Returns the previous value. */
async function change(
  service: AdministrationService,
  context: Context,
  section: string,
  key: string,
  value: string,
): Promise<string> {
  const { config, log } = context.services;
  assertChangeable(config, section, key);
  await assertKeepsAccess(
    service,
    context,
    { ...config.ownName(section, key), value },
    config.preview(section, key, value),
  );
  await assertKept(context, true);
  const before = await config.set(section, key, value, persistence(context));
  log.info(`setting ${ownText(config, section, key)} was changed`);
  return before ?? '';
}

function jsonText(context: Context, text: string): Answer {
  return jsonAnswer(context, 200, JSON.stringify(text));
}

async function remove(service: AdministrationService, context: Context, section: string, key: string): Promise<Answer> {
  const { config, log } = context.services;
  assertChangeable(config, section, key);
  mustGet(config, section, key);
  const next = config.preview(section, key, undefined, persistence(context));
  await assertKeepsAccess(service, context, { ...config.ownName(section, key), value: undefined }, next);
  await assertKept(context, true);
  const before = await config.delete(section, key, persistence(context));
  log.info(`setting ${ownText(config, section, key)} was deleted`);
  return jsonText(context, before ?? '');
}

function mustGet(config: ConfigStore, section: string, key: string): string {
  const own = config.ownName(section, key);
  const value = config.get(own.section, own.key);
  if (value === undefined) throw new DatabaseError('not_found', 'unknown_config_value');
  return value;
}

function readRaw({ query }: Context): boolean {
  const raw = query.get('raw') ?? 'false';
  if (raw === 'true' || raw === 'false') return raw === 'true';
  const word = `Bad value for 'raw' option: ${raw.slice(0, 200)}`;
  throw new CustomCodeError('bad_request', word, 'raw must be true or false.');
}

function persistence(context: Context): { readonly persist: boolean } {
  return { persist: context.ownHeader('persist') !== 'false' };
}

/** They name files of the machine. A client that may change settings over HTTP need not be one that may write to any file there. */
const FILE_SETTINGS: readonly string[] = ['log/file', 'ssl/cert_file', 'ssl/key_file'];

/** Fails for those, and if the whitelist contains only other settings. An empty one permits none: it was set on purpose. */
function assertChangeable(config: ConfigStore, section: string, key: string): void {
  const whitelist = whitelistSetting(config);
  const changed = ownText(config, section, key);
  if (isListed(config, whitelist, changed) && !FILE_SETTINGS.includes(changed)) return;
  throw new DatabaseError('modification_not_allowed', 'This config variable is read-only');
}

function isListed(config: ConfigStore, whitelist: readonly string[] | undefined, changed: string): boolean {
  return whitelist === undefined || whitelist.some((name) => ownText(config, ...splitName(name)) === changed);
}

function splitName(name: string): [section: string, key: string] {
  const slash = name.indexOf('/');
  return [name.slice(0, slash), name.slice(slash + 1)];
}

function ownText(config: ConfigStore, section: string, key: string): string {
  const own = config.ownName(section, key);
  return `${own.section}/${own.key}`;
}
