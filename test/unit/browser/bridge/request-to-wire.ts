import type { PlainRequest } from '../../../../src/base/shared/message.ts';
import type { WireRequest } from '../../../../src/browser/bridge/wire.ts';
import { type StreamTransport, wireRequest, withoutSmallStream } from '../../../../src/browser/bridge/wire-codec.ts';

/** A request as a link sends it: with its body read first where it is a small stream. */
export async function requestToWire(request: PlainRequest, transport: StreamTransport): Promise<WireRequest> {
  return wireRequest(request, await withoutSmallStream(request.body), transport);
}
