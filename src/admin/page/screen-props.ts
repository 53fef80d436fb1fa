/** What every screen of a database is given. */
export interface DatabaseScreenProps {
  readonly database: string;
  /** The segments of the address that follow the screen's name. */
  readonly rest: readonly string[];
}
