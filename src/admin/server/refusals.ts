/** What a failed request means for the user: what is missing, and how to get it. */
import type { ServerError } from './client.ts';
import type { Session } from './session.ts';

export interface Advice {
  /** What is missing. */
  readonly title: string;
  /** How to get it. */
  readonly advice: string;
  /** Whether another account may help. */
  readonly isAboutRights: boolean;
}

/** Refusals by the reason that servers of the family give, and the right that is missing. */
const RIGHTS: readonly (readonly [RegExp, Right])[] = [
  [/db or server admin|database admin|db admin/i, 'databaseAdmin'],
  [/server admin|_admin/i, 'serverAdmin'],
  [/authori[sz]ed to access this db|allowed to access this db|not authorized to access/i, 'member'],
  [/authentication required|must be logged in|login required/i, 'account'],
];

type Right = 'serverAdmin' | 'databaseAdmin' | 'member' | 'account';

const TITLES: Readonly<Record<Right, string>> = {
  serverAdmin: 'Only admins of the server can do this.',
  databaseAdmin: 'Only admins of this database can do this.',
  member: 'Only members of this database can read it.',
  account: 'Only users who are logged in can do this.',
};

const WAYS: Readonly<Record<Right, string>> = {
  serverAdmin: 'Log in as an admin, or ask one for it.',
  databaseAdmin:
    'Ask an admin to add your name, or one of your roles, to the admins on the screen Security of the database.',
  member: 'Ask an admin to add your name, or one of your roles, to the members on the screen Security of the database.',
  account: 'Log in, or ask an admin for an account.',
};

/** Segments of paths that are not endpoints. */
const NAMESPACES = new Set(['_design', '_local', '_node']);

/** Undefined: the server's own words say it best. */
export function adviceOf(failure: ServerError, session: Session, isSettee: boolean): Advice | undefined {
  if (failure.status === 401 || failure.status === 403) return adviceOnRights(failure, session);
  const endpoint = isSettee ? undefined : absentEndpoint(failure);
  if (endpoint === undefined) return undefined;
  return {
    title: `This server has no ${endpoint}.`,
    advice: 'Other servers of the family have it. What does not need it works as usual.',
    isAboutRights: false,
  };
}

function adviceOnRights({ reason, code }: ServerError, session: Session): Advice | undefined {
  const [, right] = RIGHTS.find(([pattern]) => pattern.test(reason)) ?? [];
  // Functions of databases and the login have reasons of their own.
  if (right === undefined) {
    if (code !== 'forbidden' && code !== 'unauthorized') return undefined;
    if (/password is incorrect/i.test(reason)) return undefined;
    return { title: reason, advice: whoText(session), isAboutRights: session.name === null };
  }
  return { title: TITLES[right], advice: `${whoText(session)} ${WAYS[right]}`, isAboutRights: true };
}

/** `You are logged in as ana, with the roles editor and reader.` */
export function whoText({ name, roles }: Session): string {
  if (name === null) return 'You are not logged in.';
  const shown = roles.filter((role) => role !== '_admin');
  if (roles.includes('_admin')) return `You are logged in as ${name}, an admin.`;
  if (shown.length === 0) return `You are logged in as ${name}, without roles.`;
  return `You are logged in as ${name}, with the ${shown.length === 1 ? 'role' : 'roles'} ${listText(shown)}.`;
}

function listText(all: readonly string[]): string {
  return new Intl.ListFormat('en').format(all);
}

/** The name of the endpoint that the server does not have; undefined if something else is missing. */
export function absentEndpoint({ status, reason, request }: ServerError): string | undefined {
  if (![400, 404, 405, 501].includes(status)) return undefined;
  const [path = ''] = request.path.split('?');
  const segments = path.split('/');
  // 400: the server takes the endpoint for the name of a database.
  if (status === 400 && !(segments[0]?.startsWith('_') === true && /name/i.test(reason))) return undefined;
  if (
    /database does not exist|no_db_file|deleted|missing_named_view|missing_index/i.test(reason) &&
    !path.startsWith('_')
  )
    return undefined;
  return segments.findLast((segment) => /^_[a-z_]+$/.test(segment) && !NAMESPACES.has(segment));
}
