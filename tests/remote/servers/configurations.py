"""The smallest configurations with which real servers do WebDAV, each behind Basic authentication.

`$BASE` is a folder of the server's own with `files` in it, `$PORT` a free port; `$USER`, `$PASSWORD` and `$SHA1` (the
password as htpasswd has it) are who may come in.
"""

APACHE = """\
ServerRoot "/usr/lib/apache2"
ServerName 127.0.0.1
Listen 127.0.0.1:$PORT
PidFile "$BASE/run/pid"
DefaultRuntimeDir "$BASE/run"
ErrorLog "$BASE/run/error.log"
User www-data
Group www-data
# The modules that Debian's package enables, with what it sets for them, and those for WebDAV.
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule access_compat_module modules/mod_access_compat.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule alias_module modules/mod_alias.so
LoadModule dir_module modules/mod_dir.so
LoadModule autoindex_module modules/mod_autoindex.so
LoadModule env_module modules/mod_env.so
LoadModule mime_module modules/mod_mime.so
LoadModule negotiation_module modules/mod_negotiation.so
LoadModule setenvif_module modules/mod_setenvif.so
LoadModule filter_module modules/mod_filter.so
LoadModule deflate_module modules/mod_deflate.so
LoadModule status_module modules/mod_status.so
LoadModule reqtimeout_module modules/mod_reqtimeout.so
LoadModule dav_module modules/mod_dav.so
LoadModule dav_fs_module modules/mod_dav_fs.so
LoadModule dav_lock_module modules/mod_dav_lock.so
StartServers 1
ThreadsPerChild 16
DocumentRoot "$BASE/files"
DavLockDB "$BASE/run/lockdb"
KeepAlive On
MaxKeepAliveRequests 100
KeepAliveTimeout 5
LimitRequestFieldSize 16380
DirectoryIndex index.html index.cgi index.pl index.php index.xhtml index.htm
IndexOptions FancyIndexing VersionSort HTMLTable NameWidth=* DescriptionWidth=* Charset=UTF-8
IndexIgnore .??* *~ *# RCS CVS *,v *,t
$MIMETYPES
AddType application/x-gzip .gz .tgz
AddLanguage de .de
AddLanguage es .es
AddCharset UTF-8 .utf8
AddHandler type-map var
LanguagePriority en de es
ForceLanguagePriority Prefer Fallback
AddOutputFilterByType DEFLATE text/html text/plain text/xml text/css application/xml
RequestReadTimeout header=20-40,minrate=500
RequestReadTimeout body=10,minrate=500
ExtendedStatus On
<FilesMatch "^\\.ht">
  Require all denied
</FilesMatch>
<Directory "$BASE/files">
  Dav On
  $FILEETAG
  DavDepthInfinity $INFINITY
  Options Indexes FollowSymLinks
  # Else an uploaded .htaccess is read, and the whole folder answers 500.
  AllowOverride None
  AuthType Basic
  AuthName "vault"
  AuthUserFile "$BASE/run/passwords"
  Require valid-user
</Directory>
"""

LIGHTTPD = """\
server.modules = ("mod_auth", "mod_authn_file", "mod_webdav")
server.document-root = "$BASE/files"
server.bind = "127.0.0.1"
server.port = $PORT
server.errorlog = "$BASE/run/error.log"
server.upload-dirs = ("$BASE/run")
server.max-keep-alive-requests = 100000
# Without a type for every name there is no ETag on GET.
mimetype.assign = ("" => "application/octet-stream")
webdav.activate = "enable"
webdav.is-readonly = "disable"
webdav.sqlite-db-name = "$BASE/run/webdav.db"
auth.backend = "htpasswd"
auth.backend.htpasswd.userfile = "$BASE/run/passwords"
auth.require = ("" => ("method" => "basic", "realm" => "vault", "require" => "valid-user"))
"""

NGINX = """\
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
worker_processes 1;
daemon off;
pid $BASE/run/pid;
error_log $BASE/run/error.log;
events { worker_connections 256; }
http {
  access_log off;
  dav_ext_lock_zone zone=locks:2m;
  client_body_temp_path $BASE/run/bodies;
  proxy_temp_path $BASE/run/proxy;
  fastcgi_temp_path $BASE/run/fastcgi;
  uwsgi_temp_path $BASE/run/uwsgi;
  scgi_temp_path $BASE/run/scgi;
  client_max_body_size 0;
  keepalive_requests 100000;
  server {
    listen 127.0.0.1:$PORT;
    root $BASE/files;
    auth_basic vault;
    auth_basic_user_file $BASE/run/passwords;
    location / {
      dav_methods PUT DELETE MKCOL COPY MOVE;
      dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK;
      dav_ext_lock zone=locks;
      dav_access user:rw group:rw all:r;
      min_delete_depth 0;
      create_full_put_path off;
    }
  }
}
"""

SABRE = """\
<?php
error_reporting(E_ALL & ~E_DEPRECATED & ~E_STRICT);
ini_set('display_errors', '0');
set_include_path('/usr/share/php');
require '/usr/share/php/Sabre/autoload.php';
if (($_SERVER['PHP_AUTH_USER'] ?? '') !== '$USER' || ($_SERVER['PHP_AUTH_PW'] ?? '') !== '$PASSWORD') {
    header('WWW-Authenticate: Basic realm="vault"');
    http_response_code(401);
    exit;
}
$server = new Sabre\\DAV\\Server(new Sabre\\DAV\\FSExt\\Directory('$BASE/files'));
$server->setBaseUri('/');
$server->addPlugin(new Sabre\\DAV\\Locks\\Plugin(new Sabre\\DAV\\Locks\\Backend\\File('$BASE/run/locks')));
$server->exec();
"""


def filled(template: str, values: dict[str, str]) -> str:
    """The text with each `$NAME` replaced."""
    for name, value in values.items():
        template = template.replace(f"${name}", value)
    return template
