/** Maximum bytes of bodies: what fits their purpose (docs/limits.md#bodies-of-requests), and `svc/max_document_size` for all. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { ConfigStore } from '../../base/system/contract.ts';

export interface BodyBound {
  readonly bytes: number;
  /** Members of one object in it; undefined for any number. */
  readonly members?: number;
  /** Characters of one string in it, as it is written; undefined for any number. */
  readonly stringLength?: number;
  /** What to do if that is too little, as a sentence. Undefined for the bound of the setting. */
  readonly remedy?: string;
}

/** Name and password, which are digested in one go. */
export const CREDENTIALS: BodyBound = {
  bytes: 65_536,
  remedy: 'Send name and password alone; longer passwords can not be used.',
};
/** One value, or a few. */
export const FEW_VALUES: BodyBound = { bytes: 65_536, remedy: 'Send a shorter value.' };
/** A log entry has at most 65,536 characters, and JSON may escape each of them in six. */
export const LOG_ENTRY: BodyBound = { bytes: 524_288, remedy: 'Send a shorter message.' };
/** Names of databases. */
export const NAMES: BodyBound = { bytes: 1_048_576, remedy: 'Name fewer databases at a time.' };
export const NUMBER: BodyBound = { bytes: 1_024, remedy: 'Send the number alone.' };
/** A security object of the longest size, with what JSON may have between its values. */
export const SECURITY: BodyBound = {
  bytes: 2_097_152,
  members: 10_000,
  remedy: 'Keep what is not about access in a document.',
};
/** A selector, an index, or the definition of a replication: all of it becomes values. */
export const QUERY: BodyBound = {
  bytes: 4_194_304,
  members: 10_000,
  remedy: 'Ask for less at a time, or keep a long list in documents and match by a field.',
};

/** An object that has no bound of its own, except its size. */
export const ANY_OBJECT: BodyBound = {
  bytes: Number.POSITIVE_INFINITY,
  members: 65_536,
  stringLength: 4_194_304,
  remedy: 'Send fewer at a time, or a list of them.',
};
/** An object with any number of members, which are read one by one. */
export const ANY_MEMBERS: BodyBound = { ...ANY_OBJECT, members: Number.POSITIVE_INFINITY };
/** Documents may have any number of members. */
export const DOCUMENTS: BodyBound = { bytes: Number.POSITIVE_INFINITY, members: Number.POSITIVE_INFINITY };

/** A bound up to this size applies regardless of the setting: an admin must be able to log in and to change the setting back. */
const ALWAYS_BYTES = 65_536;

/** Returns the lower of the two, or the fitting one if that is small. */
export function boundOf(config: ConfigStore, fitting: BodyBound | undefined): BodyBound {
  if (fitting !== undefined && fitting.bytes <= ALWAYS_BYTES) return fitting;
  const bytes = integerSetting(config, 'svc', 'max_document_size') ?? Number.POSITIVE_INFINITY;
  return fitting !== undefined && fitting.bytes < bytes ? fitting : { bytes };
}

/** Begins with the family's words. */
export function tooManyMembers({ members, remedy = '' }: BodyBound): DatabaseError {
  const what = `an object in a body of this kind may have ${members} members`;
  return new DatabaseError('too_large', `the request entity is too large: ${what}; nothing was changed. ${remedy}`);
}

/** Begins with the family's words. */
export function tooLongString({ stringLength }: BodyBound): DatabaseError {
  const what = `a string in a body of this kind may have ${stringLength} characters`;
  return new DatabaseError('too_large', `the request entity is too large: ${what}; nothing was changed.`);
}

/** Begins with the family's words. */
export function tooLarge({ bytes, remedy }: BodyBound): DatabaseError {
  const what =
    remedy === undefined
      ? `its JSON may have ${bytes} bytes (svc/max_document_size)`
      : `a body of this kind may have ${bytes} bytes`;
  const advice = remedy ?? 'Keep large data in attachments, or send fewer documents at a time.';
  return new DatabaseError('too_large', `the request entity is too large: ${what}; nothing was changed. ${advice}`);
}
