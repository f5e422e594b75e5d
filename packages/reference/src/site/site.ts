import type { ApiVersion } from '@petstore/api';
import type { Guides } from '../guides/load-guides.ts';
import type { Assets } from './assets.ts';
import type { DescribedInterface } from './interface-operations.ts';

/** What pages are made of. */
export interface Site {
  readonly assets: Assets;
  readonly guides: Guides;
  /** The version that callers are meant to use. */
  readonly about: DescribedInterface;
  readonly interfaces: Readonly<Record<ApiVersion, DescribedInterface>>;
}
