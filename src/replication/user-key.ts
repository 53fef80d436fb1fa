/** A key for each user, so that replications share resources fairly among users. */
const ADMIN_ROLE = '_admin';

/** Returns the same key for all replications of one user. All clients without a name are one user, and an admin without a name is another one. */
export function userKey({ name, roles }: { readonly name: string | null; readonly roles: readonly string[] }): string {
  return JSON.stringify([name, isAdmin({ roles })]);
}

export function isAdmin({ roles }: { readonly roles: readonly string[] }): boolean {
  return roles.includes(ADMIN_ROLE);
}
