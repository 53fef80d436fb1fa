/** Who sent a request, as functions of design documents see it: `userCtx` without the database. */
export interface User {
  readonly name: string | null;
  readonly roles: readonly string[];
}

export const SERVER_ADMIN_ROLE = '_admin';

/** There is no authentication yet, so that everyone is the server's admin. */
export const ADMIN_PARTY: User = { name: null, roles: [SERVER_ADMIN_ROLE] };
