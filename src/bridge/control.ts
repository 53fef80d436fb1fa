/** What a page says to the service worker itself, beside requests. Each is answered on the port that comes along. */

/**
 * `SKIP_WAITING`, as Workbox calls it: take over from the version before. Not answered.
 * `SETTEE_CLAIM`: take control of this page; answered by a service worker that answers below the base, and by no other.
 * `SETTEE_DRAIN`: end what is open, so that a new version can take over; answered when nothing is left.
 */
export interface ControlMessage {
  readonly type: 'SKIP_WAITING' | 'SETTEE_CLAIM' | 'SETTEE_DRAIN';
  /** Of the page that says so, absolute. */
  readonly base?: string;
}

export interface ControlAnswer {
  readonly protocol: number;
}
