const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * @param role of docs/operations.md, which may
 * @returns what PostgreSQL denies to the role that is logged in, in one line; `undefined` where it is no denial
 */
export function describeDenial(error: unknown, role: `petstore_${'server' | 'backup' | 'owner'}`): string | undefined {
  // Of pg or, around it, of the ORM.
  const isDenial = error instanceof Error && 'code' in error && error.code === INSUFFICIENT_PRIVILEGE;
  return isDenial ? `${error.message}; it takes a role like ${role} (docs/operations.md, "Roles")` : undefined;
}
