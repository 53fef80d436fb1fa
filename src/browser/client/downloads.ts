/**
 * Links that save their target (`<a download>`). Chromium requests it from the network, past the service worker
 * (https://crbug.com/468227); a page in a frame it requests from the service worker, which has it saved (`browser/sw/service-worker-host.ts`).
 */
import { downloadHash } from '../bridge/wire.ts';

/** A response that is saved is not a page, so no event reports its arrival; none takes this long to begin. */
const FRAME_MS = 60_000;

/** Until the signal: handles links below the base that no listener of the page has handled. */
export function serveDownloads(base: string, signal: AbortSignal): void {
  // `download` does not save resources of another origin.
  if (navigator.userAgent.includes(' Firefox/') || !base.startsWith(`${location.origin}/`)) return;
  const onClick = (event: Event): void => {
    const link = event.composedPath().find(isLink);
    if (event.defaultPrevented || link === undefined || !link.href.startsWith(base)) return;
    if (navigator.serviceWorker?.controller == null) return;
    event.preventDefault();
    save(link);
  };
  addEventListener('click', onClick, { signal });
}

function isLink(target: EventTarget): target is HTMLAnchorElement {
  return target instanceof HTMLAnchorElement && target.hasAttribute('download');
}

function save({ href, download }: HTMLAnchorElement): void {
  const address = new URL(href);
  address.hash = downloadHash(download);
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.src = address.href;
  // A loaded document is not a file but an error response.
  frame.addEventListener('load', () => frame.remove());
  document.body.append(frame);
  setTimeout(() => frame.remove(), FRAME_MS);
}
