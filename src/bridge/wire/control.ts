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

/**
 * From the worker that owns the storage to its page, and from there as it is to the service worker that controls the page: a port to the owner comes
 * along, which is faster than its channel. A worker can't reach the service worker itself in Chromium. Not answered; what does not
 * arrive is not missed.
 */
export interface PortOffer {
  readonly type: 'SETTEE_PORT';
  readonly base: string;
  /** Id of the owner. */
  readonly owner: string;
  /** Id of the link that the port is for. */
  readonly peer: string;
}

/**
 * From the worker that owns the storage to its page, and from there as it is to the service worker that controls the page: that it comes is what
 * keeps the service worker alive. Not answered.
 */
export interface SignOfLife {
  readonly type: 'SETTEE_ALIVE';
  readonly base: string;
}

export interface ControlAnswer {
  readonly protocol: number;
}
