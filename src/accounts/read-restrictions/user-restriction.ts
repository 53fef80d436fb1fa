/** Users see their own documents, and of other users' documents at most the public members (docs/http/accounts.md#reading-users). */

import { isObject } from '../../base/json/objects.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { USER_PREFIX } from '../contract.ts';
import type { ReadRestriction } from './read-restriction.ts';

/** `fields`: public members; undefined if there are none. */
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
