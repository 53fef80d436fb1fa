export * from '@tanstack/db';
