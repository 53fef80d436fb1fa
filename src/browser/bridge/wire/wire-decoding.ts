/**
 * Converts what came over a port or a channel to a typed message; undefined if it is not one of ours. These functions only check enough to
 * distinguish messages: the content of a message follows from the protocol's number, which its receiver compares.
 */
import type { PortOffer } from './control.ts';
import type { BodyStep, FromOwner, PageCalls, ToAll, ToOwner } from './wire.ts';

export function asBodyStep(data: unknown): BodyStep | undefined {
  return isRecord(data) && typeof data['step'] === 'string' ? (data as BodyStep) : undefined;
}

export function asToOwner(data: unknown): ToOwner | undefined {
  return isMessage(data) ? (data as ToOwner) : undefined;
}

export function asFromOwner(data: unknown): FromOwner | undefined {
  return isMessage(data) ? (data as FromOwner) : undefined;
}

export function asToAll(data: unknown): ToAll | undefined {
  return isMessage(data) ? (data as ToAll) : undefined;
}

export function asPageCalls(data: unknown): PageCalls | undefined {
  return isRecord(data) && Array.isArray(data['calls']) ? (data as unknown as PageCalls) : undefined;
}

export function asPortOffer(data: unknown): PortOffer | undefined {
  return isRecord(data) && data['type'] === 'SETTEE_PORT' ? (data as unknown as PortOffer) : undefined;
}

function isMessage(data: unknown): data is object {
  return (
    isRecord(data) &&
    typeof data['protocol'] === 'number' &&
    typeof data['from'] === 'string' &&
    typeof data['kind'] === 'string'
  );
}

function isRecord(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null;
}
