export function runnable() {}
