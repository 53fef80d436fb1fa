/** What readers who are not admins of a system database see of its documents. */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { shownAddress } from '../../base/system/shown-address.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { USER_PREFIX } from '../contract.ts';

/** For one reader of one database. */
export interface ReadRestriction {
  /** The same for readers who see the same. */
  readonly tag: string;
  /** The reader may list its documents. */
  readonly maySeeList: boolean;
  /** The reader may follow its changes, without documents. */
  readonly maySeeChanges: boolean;
  /** The reader sees nothing of that document, whether or not it exists. */
  hides(id: string): boolean;
  /** The reader sees none of that document's attachments, as if it had none. */
  hidesAttachments(id: string): boolean;
  /** Returns a document's body as the reader sees it: the same text if that is all of it, undefined if nothing is visible. */
  show(id: string, body: string): string | undefined;
}

/**
 * Users see their own documents, and of other users' documents at most the public members (docs/http/accounts.md#reading-users).
 * `fields`: public members; undefined if there are none.
 */
export function userRestriction({ name }: RequestUser, fields: ReadonlySet<string> | undefined): ReadRestriction {
  const isOwn = (id: string) => name !== null && id === `${USER_PREFIX}${name}`;
  return {
    tag: JSON.stringify([name, fields === undefined ? null : [...fields]]),
    maySeeList: fields !== undefined,
    maySeeChanges: false,
    hides: (id) => !isOwn(id) && (fields === undefined || isDesignId(id)),
    // No member that could be public names attachments.
    hidesAttachments: (id) => !isOwn(id),
    show: (id, body) => {
      if (isOwn(id)) return body;
      return fields === undefined || isDesignId(id) ? undefined : publicText(body, fields);
    },
  };
}

function publicText(body: string, fields: ReadonlySet<string>): string | undefined {
  const document: unknown = JSON.parse(body);
  if (!isObject(document)) return undefined;
  const shown = Object.entries(document).filter(([name]) => fields.has(name) && !name.startsWith('_'));
  return shown.length === 0 ? undefined : JSON.stringify(Object.fromEntries(shown));
}

const ENDPOINTS: ReadonlySet<string> = new Set(['source', 'target', 'proxy', 'source_proxy', 'target_proxy']);
/** Members of an endpoint that everyone may see; others, such as `headers` and `auth`, hold credentials. */
const SHOWN: ReadonlySet<string> = new Set(['url']);
/** Replaces an address that can't be shown. */
const HIDDEN = 'hidden';

/** A user who does not own a document of `_replicator` sees none of its credentials (docs/http/accounts.md#access-rights). */
export function replicationRestriction({ name }: RequestUser): ReadRestriction {
  return {
    tag: JSON.stringify([name]),
    maySeeList: true,
    maySeeChanges: true,
    hides: () => false,
    hidesAttachments: () => false,
    show: (id, body) => (isDesignId(id) ? body : shownText(body, name)),
  };
}

function shownText(body: string, name: string | null): string {
  const document: unknown = JSON.parse(body);
  if (!isObject(document) || (name !== null && ownMember(document, 'owner') === name)) return body;
  const members = Object.entries(document).map(([member, value]): [string, unknown] => [
    member,
    ENDPOINTS.has(member) ? withoutCredentials(value) : value,
  ]);
  return JSON.stringify(Object.fromEntries(members));
}

function withoutCredentials(endpoint: unknown): unknown {
  if (typeof endpoint === 'string') return shownAddress(endpoint) ?? HIDDEN;
  return isObject(endpoint) ? shownMembers(endpoint) : endpoint;
}

function shownMembers(endpoint: JsonObject): JsonObject {
  const members = Object.entries(endpoint).filter(([member]) => SHOWN.has(member));
  return Object.fromEntries(
    members.map(([member, value]) => [member, typeof value === 'string' ? (shownAddress(value) ?? HIDDEN) : value]),
  );
}
