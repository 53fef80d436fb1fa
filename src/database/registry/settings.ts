/** How many databases are open at a time if `svc/max_dbs_open` doesn't say. */
export const DEFAULT_MAX_OPEN = 100;
