import type { ApiVersion } from '@petstore/api';
import type { Guides } from '../guides/load-guides.ts';
import type { DescribedInterface } from '../interface/describe-interface.ts';
import type { Assets } from './assets.ts';

/** The content that pages are rendered from. */
export interface Site {
  readonly assets: Assets;
  readonly guides: Guides;
  /** The current version, v1. */
  readonly about: DescribedInterface;
  readonly interfaces: Readonly<Record<ApiVersion, DescribedInterface>>;
}
