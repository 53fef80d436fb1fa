/** Who does not own a document of `_replicator` sees none of its credentials (docs/http.md#access-rights). */
import { isDesignId } from '../../documents/identifiers.ts';
import { isObject, type JsonObject, ownMember } from '../../json/objects.ts';
import type { RequestUser } from '../../shared/message.ts';
import type { Shield } from './shield.ts';

const ENDPOINTS: ReadonlySet<string> = new Set(['source', 'target', 'proxy', 'source_proxy', 'target_proxy']);
/** Members of an endpoint that anybody may see; others, such as `headers` and `auth`, say how to get in. */
const SHOWN: ReadonlySet<string> = new Set(['url']);
const USER_OF_URL = /^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i;

export function replicationShield({ name }: RequestUser): Shield {
  return {
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
  if (typeof endpoint === 'string') return withoutUser(endpoint);
  return isObject(endpoint) ? shownMembers(endpoint) : endpoint;
}

function shownMembers(endpoint: JsonObject): JsonObject {
  const members = Object.entries(endpoint).filter(([member]) => SHOWN.has(member));
  return Object.fromEntries(
    members.map(([member, value]) => [member, typeof value === 'string' ? withoutUser(value) : value]),
  );
}

/** Up to the last `@` of the authority: passwords may have some, unencoded. The query may have tokens. */
function withoutUser(url: string): string {
  return url.replace(USER_OF_URL, '$1').replace(/\?.*$/s, '');
}
