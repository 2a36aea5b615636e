from subwords.interop.convert import convert as convert
from subwords.interop.lock import check_lock as check_lock
from subwords.interop.lock import lock as lock
from subwords.interop.verify import verify as verify
from subwords.tokens.manifest import Manifest as Manifest
from subwords.tokens.opening import check as check
from subwords.tokens.opening import open as open
from subwords.tokens.token_file import TokenFile as TokenFile
