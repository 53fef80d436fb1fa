/** A page that does nothing, to which a tab can go. */
export {};
