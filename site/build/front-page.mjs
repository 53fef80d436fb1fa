export function frontPage() { return { name: 'front-page' }; }
