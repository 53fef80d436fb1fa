/**
 * The names of settings (docs/http/server.md#names-of-settings). Other servers of the family have some of ours under other names; those are aliases: one
 * value, read, changed and deleted under each name. Internally only our own names are used.
 */
import type { SettingName } from '../../base/system/contract.ts';
import { isKnown } from './known-settings.ts';

/** The family's sections that hold settings of ours under the same keys. */
const FAMILY_SECTIONS: Readonly<Record<string, string>> = {
  // The first one wins if a file has several of them: it is the newest versions' name.
  chttpd_auth: 'svc_httpd_auth',
  chttpd: 'httpd',
  couch_httpd_auth: 'svc_httpd_auth',
  couch_httpd_oauth: 'svc_httpd_oauth',
  couchdb: 'svc',
  couch_auto_purge_plugin: 'auto_purge',
};

/** The family's keys that differ from ours, after the section as named here. */
const FAMILY_KEYS: Readonly<Record<string, string>> = {
  'httpd/require_valid_user': 'svc_httpd_auth/require_valid_user',
  'httpd/require_valid_user_except_for_up': 'svc_httpd_auth/require_valid_user_except_for_up',
  'svc/max_attachment_size': 'svc/max_attachment_chunk_size',
};

/** A host in the form of the family's documentation for its own section of `cors`. */
const HOST_WITH_SCHEME = /^cors:https?:\/\/(.+)$/;

/** Returns our name of the setting; the given one if it is not one of ours. */
export function ownName(section: string, key: string): SettingName {
  const found = alias(section, key);
  return found !== undefined && isKnown(found.section, found.key) ? found : { section, key };
}

/** Returns the name that the setting would have here, whether it exists or not. */
export function familyName(section: string, key: string): SettingName {
  return alias(section, key) ?? { section, key };
}

/** Undefined if the name is the same. */
function alias(section: string, key: string): SettingName | undefined {
  const ownSection = own(FAMILY_SECTIONS, section) ?? HOST_WITH_SCHEME.exec(section)?.[1]?.replace(/^/, 'cors:');
  const ownKey = own(FAMILY_KEYS, `${ownSection ?? section}/${key}`);
  if (ownKey !== undefined) return splitName(ownKey);
  return ownSection === undefined ? undefined : { section: ownSection, key };
}

function own(names: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

export function splitName(name: string): SettingName {
  const slash = name.indexOf('/');
  return { section: name.slice(0, slash), key: name.slice(slash + 1) };
}

/** Returns all names of a setting known by our name: that one, then its aliases. The first existing one counts. */
export function namesOf({ section, key }: SettingName): readonly SettingName[] {
  const ownText = `${section}/${key}`;
  const familyKeys = Object.entries(FAMILY_KEYS).flatMap(([from, to]) => (to === ownText ? [splitName(from)] : []));
  const bases = [{ section, key }, ...familyKeys];
  const inSections = Object.entries(FAMILY_SECTIONS).flatMap(([family, ours]) =>
    bases.flatMap((base) => (base.section === ours ? [{ section: family, key: base.key }] : [])),
  );
  return [{ section, key }, ...inSections, ...familyKeys, ...namesWithScheme(section, key)];
}

function namesWithScheme(section: string, key: string): SettingName[] {
  if (!section.startsWith('cors:')) return [];
  return ['http', 'https'].map((scheme) => ({ section: `cors:${scheme}://${section.slice(5)}`, key }));
}

/** Returns the aliases in a section of the family, with our names. */
export function aliasesIn(section: string, ownNames: Iterable<SettingName>): [key: string, own: SettingName][] {
  if (own(FAMILY_SECTIONS, section) === undefined && !HOST_WITH_SCHEME.test(section)) return [];
  return [...ownNames].flatMap((name) =>
    namesOf(name).flatMap((other): [string, SettingName][] => (other.section === section ? [[other.key, name]] : [])),
  );
}
