/** The sender of a request, as functions of design documents see it: `userCtx` without the database. */
export interface User {
  readonly name: string | null;
  readonly roles: readonly string[];
}
