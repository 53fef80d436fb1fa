/**
 * Links that save what they lead to (`<a download>`). Chromium asks the network for it, past the service worker
 * (https://crbug.com/468227); a page in a frame it asks the service worker for, which has it saved (`browser/sw/downloads.ts`).
 */
import { downloadHash } from '../bridge/wire/control.ts';

/** An answer that is saved is no page, so nothing tells when it has come; none takes as long as this to begin. */
const FRAME_MS = 60_000;

/** Until the signal: links below the base, of which no listener of the page has taken care. */
export function serveDownloads(base: string, signal: AbortSignal): void {
  // What is of another origin is not saved by `download`.
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
  // What is loaded is no file: an answer that tells of a failure.
  frame.addEventListener('load', () => frame.remove());
  document.body.append(frame);
  setTimeout(() => frame.remove(), FRAME_MS);
}
