export * from '@tanstack/db';
/** The oldest version that works is the one that comes with the library for Vue. */
export * as oldest from '@tanstack/vue-db';
