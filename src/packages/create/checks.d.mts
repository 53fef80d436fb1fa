export class RefusalError extends Error {}
export function checkName(target: string): string;
export function checkTarget(target: string): void;
